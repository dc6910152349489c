"""Many systems on many data sets by the same rules: what each finds, how good and how stable it is.

| module | what is there |
|---|---|
| `running` | `compare`: every system, every set, every seed, every corruption |
| `planning` | all fits, and which are still to be made |
| `data_sets`, `contenders`, `exchange` | data sets and systems from anywhere; what a system is given |
| `fitting` | one system on one set: preparation, fits, scores |
| `workers`, `worker`, `store`, `pace` | processes with limits, results that survive a kill, one clock |
| `outcome`, `result`, `reading` | what came of it, and reading it again |
| `statistics` | means, ranks, tests, intervals |
| `formats`, `figures` | tables as Markdown, CSV and LaTeX; figures as SVG |
| `overview`, `corruption_overview` | all of that for many data sets |
| `agreement`, `sentences`, `summary` | how far systems agree on one data set, and what that shows |
"""

from .data_sets import DataSet
from .reading import read_comparison
from .result import Comparison
from .running import compare
from .statistics import ScoreTable

__all__ = ["Comparison", "DataSet", "ScoreTable", "compare", "read_comparison"]
