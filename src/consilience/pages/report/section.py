"""A section of the report: a heading, what it shows, and its conclusion in short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..markup import Markup
from .content import ReportContent


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    name : str
        Its id on the page, to link to.
    title : str
        Its heading.
    body : callable
        Takes the `ReportContent`, returns the markup below the heading.
    conclusion : callable or None
        Takes the `ReportContent`, returns the sentences at the top of the page: what a reader who
        reads no further should know. None: the section is not mentioned there.
    applies : callable or None
        Takes the `ReportContent`, says whether there is anything to show. None: always.
    """

    name: str
    title: str
    body: Callable[[ReportContent], Markup]
    conclusion: Callable[[ReportContent], str] | None = None
    applies: Callable[[ReportContent], bool] | None = None
