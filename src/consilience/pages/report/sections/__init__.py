"""The sections of the report, in the order in which a reader asks."""

from . import answer, disagreement, fusion_help, number, provenance, trust

SECTIONS = (
    answer.SECTION,
    number.SECTION,
    trust.SECTION,
    disagreement.SECTION,
    fusion_help.SECTION,
    provenance.SECTION,
)

__all__ = ["SECTIONS"]
