"""Keeping a fit: model files, which hold data only, are checked on reading, and read alike everywhere.

| module | what is there |
|---|---|
| `models` | `save` and `load` |
| `container` | the ZIP archive and its manifest |
| `arrays` | arrays as its members |
| `encoding`, `decoding` | values to JSON, and back |
| `classes` | the table of the classes whose objects a file may hold |
| `texts` | values that are kept as text, such as dates |
| `consistency` | whether indices are within bounds, and shapes agree |
"""

from .errors import ModelFileError
from .models import load, save

__all__ = ["ModelFileError", "load", "save"]
