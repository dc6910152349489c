"""How far views agree about who is near whom, beyond chance, and how far each can be relied on."""

from .reliability import ViewReliability, row_reliability, view_reliability
from .statistics import Agreement, view_agreement

__all__ = [
    "Agreement",
    "ViewReliability",
    "row_reliability",
    "view_agreement",
    "view_reliability",
]
