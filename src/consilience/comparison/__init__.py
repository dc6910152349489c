"""Many systems on the same views: what each finds, how stable that is, and how well they agree.

| module | what is there |
|---|---|
| `running` | `compare_systems`: every system, every seed, every resample |
| `outcome` | the result of one system, also if it failed |
| `agreement` | labellings ordered by how well they agree |
| `sentences` | what the figures show, in words |
| `summary` | all of it, ready for JSON, CSV, the terminal and the page |
| `picture` | all of it in one picture |
"""

from .running import Comparison, compare_systems

__all__ = ["Comparison", "compare_systems"]
