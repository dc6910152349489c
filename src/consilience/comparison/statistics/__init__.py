"""Statistics of many systems on many data sets: what people cite, and what each figure is good for.

| module | what is there |
|---|---|
| `score_table` | the scores, their complete part, means over sets and families |
| `differences` | win / tie / loss, and mean differences with bootstrap intervals |
| `spreads` | spread over seeds apart from spread over sets |
| `paired_tests` | Wilcoxon's signed ranks, Holm's correction |
| `rank_tests` | mean ranks, Friedman, critical differences, groups that cannot be told apart |
"""

from .differences import MeanDifference, WinTieLoss, mean_difference, win_tie_loss
from .paired_tests import PairedTest, SignedRank, holm, pairwise_tests, reference_tests, signed_rank_test
from .rank_tests import Friedman, RankGroups, critical_difference, friedman, mean_ranks, rank_groups
from .score_table import CompleteBlock, MeanScore, ScoreTable, complete_block, mean_scores
from .spreads import DifferenceSpread, SystemSpread, difference_spread, system_spreads

__all__ = [
    "CompleteBlock",
    "DifferenceSpread",
    "Friedman",
    "MeanDifference",
    "MeanScore",
    "PairedTest",
    "RankGroups",
    "ScoreTable",
    "SignedRank",
    "SystemSpread",
    "WinTieLoss",
    "complete_block",
    "critical_difference",
    "difference_spread",
    "friedman",
    "holm",
    "mean_difference",
    "mean_ranks",
    "mean_scores",
    "pairwise_tests",
    "rank_groups",
    "reference_tests",
    "signed_rank_test",
    "system_spreads",
    "win_tie_loss",
]
