"""In short: the conclusion of each section, the most serious first, with every caveat."""

from __future__ import annotations

from . import sentences
from .content import ReportContent
from .sections import choosing, helping
from .view_sentences import disagreement

MOST_NAMED = 2  # views; the others are counted


def in_short(content: ReportContent) -> dict[str, str]:
    """Return what a reader should know who reads no further, by section."""
    return {
        "answer": sentences.answer(content),
        **({} if content.selection is None else {"number": choosing.sentence(content.selection)}),
        "trust": " ".join(_trust(content)),
        "views": " ".join(disagreement(content, MOST_NAMED)),
        "help": " ".join([helping.sentence(content), *helping.scope(content)]),
        "made": "Parameters, versions, and the code to make it again.",
    }


def _trust(content: ReportContent) -> list[str]:
    told = [] if content.found.convergence.converged else [sentences.convergence(content)]
    return [*told, *sentences.in_pieces(content), *sentences.confidence(content, MOST_NAMED)]
