"""Model files and checkpoints: data only, checked on reading, and read alike everywhere.

| module | what is there |
|---|---|
| `container` | the ZIP archive and its manifest |
| `arrays` | arrays as its members |
| `encoding`, `decoding` | values to JSON, and back |
| `texts` | values that are kept as text, such as dates |

Which classes a file may hold, these say themselves (`io.stored`). `models.saving` has `save` and `load`.
"""

from .errors import ModelFileError

__all__ = ["ModelFileError"]
