"""How far views agree about which samples are near each other, beyond chance, and how reliable each is."""

from .reliability import ViewReliability, row_reliability, view_reliability
from .statistics import Agreement, view_agreement

__all__ = [
    "Agreement",
    "ViewReliability",
    "row_reliability",
    "view_agreement",
    "view_reliability",
]
