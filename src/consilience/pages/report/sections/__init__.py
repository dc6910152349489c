"""The sections of the report, in the order in which a reader asks."""

from . import answer, descriptions, disagreement, fusion_help, number, provenance, trust

SECTIONS = (
    answer.SECTION,
    number.SECTION,
    trust.SECTION,
    disagreement.SECTION,
    fusion_help.SECTION,
    descriptions.SECTION,
    provenance.SECTION,
)

__all__ = ["SECTIONS"]
