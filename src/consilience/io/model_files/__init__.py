"""Model files and checkpoints: data only, checked when they are read, and the same on every machine.

| module | what is there |
|---|---|
| `container` | the ZIP archive and its manifest |
| `arrays` | arrays as its members |
| `encoding`, `decoding` | values to JSON, and back |
| `texts` | values that are kept as text, such as dates |

Each class says itself whether a file may hold it (`io.stored`). `models.saving` has `save` and `load`.
"""

from .errors import ModelFileError

__all__ = ["ModelFileError"]
