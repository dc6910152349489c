"""Whether fusing views helps, judged without labels.

| module | what is there |
|---|---|
| `question`, `of_model` | `does_fusion_help`, of views or of a fitted model |
| `compared_views` | views placed once, each alone and all side by side, on all or some of the samples |
| `contenders` | what is compared, and how each clusters the views: stages, under one spectral step |
| `stability`, `resamples`, `null_views` | how far clusters hold in subsets, and in views without structure |
| `held_out` | whether what the others find shows in a view that had no part |
| `verdict`, `result` | the verdict, and all that it rests on |
"""

from .of_model import fusion_help_for
from .question import does_fusion_help
from .result import FusionHelp

__all__ = ["FusionHelp", "does_fusion_help", "fusion_help_for"]
