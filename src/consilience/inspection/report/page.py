"""The page: one HTML file that asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from .content import ReportContent
from .markup import Markup, element, joined
from .payload import Payload
from .sections import (
    answer_section,
    choosing_section,
    disagreement_section,
    helping_section,
    making_section,
    trust_section,
)
from .summary import in_short

TITLES = {
    "answer": "The answer",
    "number": "How many clusters?",
    "trust": "Can I trust it?",
    "views": "Which view disagrees where?",
    "help": "Does fusion help?",
    "made": "How it was made",
}
SCRIPTS = ("echarts.min.js", "charts.js", "report.js")


def make_page(content: ReportContent, payload: Payload) -> str:
    """Return the whole page."""
    sections = {
        "answer": answer_section(content, payload),
        **({"number": choosing_section(content)} if content.selection is not None else {}),
        "trust": trust_section(content),
        "views": disagreement_section(content, payload),
        "help": helping_section(content),
        "made": making_section(content),
    }
    body = joined(
        element("a", "Skip to the answer", href="#answer", class_="skip"),
        element("header", element("h1", content.title), _in_short(content)),
        element(
            "p",
            "Charts, sorting and filters need JavaScript; all text and tables are here without.",
            class_="unscripted",
        ),
        element("main", [_section(name, TITLES[name], inside) for name, inside in sections.items()]),
        element("footer", element("p", "Written by consilience. This page needs no network.")),
        Markup(f'<script type="application/json" id="data">{payload.to_json()}</script>'),
        [Markup(f"<script>{asset(name)}</script>") for name in SCRIPTS],
    )
    return f'<!doctype html>\n<html lang="en">{_head(content.title)}{element("body", body)}</html>\n'


def _head(title: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{asset('report.css')}</style>"),
    )


def _section(name: str, title: str, inside: Markup) -> Markup:
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, inside, id=name, aria_labelledby=f"{name}-title", tabindex=-1)


def _in_short(content: ReportContent) -> Markup:
    """Return the conclusions of all sections, each with the way to it."""
    terms = [
        element("div", element("dt", element("a", TITLES[name], href=f"#{name}")), element("dd", text))
        for name, text in in_short(content).items()
    ]
    return element("nav", element("dl", terms, class_="short"), aria_label="In short")


@cache
def asset(name: str) -> str:
    """Return the text of a file that the page carries."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def _policy() -> str:
    """Return what the page may do: run its own scripts, known by their hashes, and nothing else."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()}'"
        for name in SCRIPTS
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
