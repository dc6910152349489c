"""Effort: what the parameters that are left to "auto" stand for."""

from __future__ import annotations

ROW_WEIGHTINGS = ("auto", "learned", "agreement", "uniform")
DESCRIPTIONS = ("auto", "confirmed", "default")
EFFORTS = ("low", "medium", "high")


def learns_trust(row_weights: str, effort: str) -> bool:
    """Say whether the trust in rows is learned together with the clusters."""
    return row_weights == "learned" or (row_weights == "auto" and effort != "low")


def redescribes(descriptions: str, effort: str) -> bool:
    """Say whether other descriptions of the features are tried."""
    return descriptions == "confirmed" or (descriptions == "auto" and effort == "high")
