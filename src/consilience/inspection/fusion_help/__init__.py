"""Whether fusing views helps, judged without labels.

| module | what is there |
|---|---|
| `question`, `of_model` | `does_fusion_help`, of views or of a fitted model |
| `compared_views` | views placed once, each alone and all side by side, on all or some of the samples |
| `contenders` | what is compared, and how each clusters the views: stages, under one spectral step |
| `comparison`, `resamples` | all contenders, fitted to all samples and to random subsets |
| `shown`, `agreement` | how far clusters show in the graphs of the views, and how far labellings agree |
| `verdict`, `result` | the verdict, and all that it rests on |
"""

from .of_model import fusion_help_for
from .question import does_fusion_help
from .result import FusionHelp

__all__ = ["FusionHelp", "does_fusion_help", "fusion_help_for"]
