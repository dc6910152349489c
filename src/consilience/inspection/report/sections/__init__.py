"""The sections of the page, in the order in which a person asks: each a function that returns HTML."""

from .answer import answer_section
from .choosing import choosing_section
from .disagreement import disagreement_section
from .helping import helping_section
from .making import making_section
from .trust import trust_section

__all__ = [
    "answer_section",
    "choosing_section",
    "disagreement_section",
    "helping_section",
    "making_section",
    "trust_section",
]
