"""The frame of every page: one HTML file that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from .markup import Markup, element, joined

NONE = "'none'"


def whole_page(title: str, body: Markup, *, scripts: Sequence[str] = (), data: str | None = None) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        In the title bar; the heading is part of the body.
    body : Markup
        What the page shows.
    scripts : sequence of str, default=()
        Names of files in ``assets`` that the page runs, in order; it runs no others.
    data : str, optional
        JSON for the scripts, with nothing in it that could end a script element.
    """
    inside = joined(
        body,
        None if data is None else Markup(f'<script type="application/json" id="data">{data}</script>'),
        [Markup(f"<script>{asset(name)}</script>") for name in scripts],
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(tuple(scripts))),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{asset('page.css')}</style>"),
    )
    return f'<!doctype html>\n<html lang="en">{head}{element("body", inside)}</html>\n'


@cache
def asset(name: str) -> str:
    """Return the text of a file that pages carry."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def _policy(scripts: tuple[str, ...]) -> str:
    """Return what the page may do: run its own scripts, known by their hashes, and nothing else."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()}'"
        for name in scripts
    )
    return (
        f"default-src {NONE}; script-src {hashes or NONE}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
