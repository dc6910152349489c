"""The page of the report: the conclusions in short, then section by section."""

from __future__ import annotations

from collections.abc import Sequence

from ..frame import whole_page
from ..markup import Markup, element, joined, section
from .content import ReportContent
from .payload import payload_json
from .section import Section

SCRIPTS = ("echarts.min.js", "charts.js", "report.js")


def make_page(content: ReportContent, sections: Sequence[Section]) -> str:
    """Return the whole page."""
    shown = [one for one in sections if one.applies is None or one.applies(content)]
    body = joined(
        element("a", f"Skip to: {shown[0].title}", href=f"#{shown[0].name}", class_="skip")
        if shown
        else None,
        element("header", element("h1", content.title), _in_short(content, shown)),
        element(
            "p",
            "Charts, sorting and filters need JavaScript; all text and tables work without it.",
            class_="unscripted",
        ),
        element("main", [section(one.name, one.title, one.body(content)) for one in shown]),
        element("footer", element("p", "Written by consilience. This page needs no network.")),
    )
    return whole_page(content.title, body, scripts=SCRIPTS, data=payload_json(content))


def _in_short(content: ReportContent, sections: Sequence[Section]) -> Markup:
    """Return the conclusions of all sections, each with a link to its section."""
    terms = [
        element(
            "div",
            element("dt", element("a", one.title, href=f"#{one.name}")),
            element("dd", one.conclusion(content)),
        )
        for one in sections
        if one.conclusion is not None
    ]
    return element("nav", element("dl", terms, class_="short"), aria_label="In short")
