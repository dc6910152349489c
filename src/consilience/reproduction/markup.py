"""Pieces of a self-contained HTML page: no script, no request, every text escaped."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --back: #fff; --rule: #d5d5d5; --pale: #626262;
  --far: #b34700; --stripe: #f6f6f6; --link: #00528a;
  --good: #00694d; --half: #8a5a00; --bad: #a12c00; --none: #5b5b5b; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --back: #141414; --rule: #3d3d3d; --pale: #a5a5a5;
    --far: #ffa15c; --stripe: #1d1d1d; --link: #7cc4f5;
    --good: #4fd0a6; --half: #f0bc4e; --bad: #ff9266; --none: #b0b0b0; }
}
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7em; line-height: 1.25; margin: .3em 0; }
h2 { font-size: 1.3em; margin: 2.2em 0 .4em; padding-top: .8em; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05em; margin: 2em 0 .4em; }
p, figcaption, li { max-width: 46rem; }
a { color: var(--link); overflow-wrap: anywhere; }
nav { margin: 1em 0; line-height: 1.9; }
nav a { margin-right: 1.1em; white-space: nowrap; }
.banner { border: 2px solid var(--bad); border-radius: 6px; color: var(--bad); font-weight: 600;
  padding: .6em .9em; }
.note, small, .paper, figcaption { color: var(--pale); }
.note, figcaption { font-size: .9em; }
small { font-size: .86em; }
.paper { display: block; font-size: .96em; }
.far { color: var(--far); font-weight: 600; }
.wide { overflow-x: auto; margin: .5em 0 1em; }
table { border-collapse: collapse; font-size: .88em; }
th, td { padding: .32em .6em; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--stripe); }
.fixed th:first-child { position: sticky; left: 0; background: var(--back); }
.fixed tbody tr:nth-child(even) th:first-child { background: var(--stripe); }
.dense { font-size: .82em; }
.dense th, .dense td { padding: .35em .46em; }
.claims { width: 100%; }
.claims th:first-child { width: 11em; }
.claims td:nth-child(2), .claims thead th:nth-child(2) { width: 24em; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: var(--good); } .part { color: var(--half); } .fails { color: var(--bad); }
.unknown { color: var(--none); }
figure { margin: 1.2em 0 2em; }
figcaption { margin-top: .5em; }
.card { background: #fff; border: 1px solid var(--rule); border-radius: 8px; padding: .8em;
  overflow-x: auto; }
.card img { display: block; width: 100%; height: auto; margin: 0 auto; }
@media (max-width: 44rem) {
  body { font-size: 15px; }
  .stacked thead { display: none; }
  .stacked tr { display: block; padding: .7em 0; border-bottom: 1px solid var(--rule); }
  .stacked tbody tr { background: none; }
  .stacked th, .stacked td, .claims td:nth-child(2) { display: block; width: auto; border: 0;
    padding: .1em 0; white-space: normal; }
}
@media print {
  :root { color-scheme: light; --text: #000; --back: #fff; --rule: #bbb; --pale: #444; --stripe: #fff;
    --far: #b34700; --link: #000; --good: #00694d; --half: #8a5a00; --bad: #a12c00; --none: #444; }
  body { font-size: 10pt; max-width: none; padding: 0; }
  nav { display: none; }
  table { font-size: 7.5pt; } .dense { font-size: 6.6pt; } .dense th, .dense td { padding: .3em; }
  .wide, .card { overflow: visible; }
  .card { border: 0; padding: 0; } .card img { min-width: 0 !important; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
}
"""
LEAST_WIDTH = 660  # pixels: a figure gets no smaller, it scrolls


def whole_page(title: str, parts: Iterable[str]) -> str:
    """Return a page of parts that are HTML already."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{''.join(parts)}</body></html>\n"
    )


def section(name: str, title: str, content: str) -> str:
    """Return a section that can be linked to."""
    return f"<section id='{escape(name)}'><h2>{escape(title)}</h2>\n{content}</section>\n"


def paragraph(text: str, css: str = "") -> str:
    """Return a paragraph of plain text."""
    return f"<p{f' class={css}' if css else ''}>{escape(text)}</p>\n"


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = (), css: str = "fixed"
) -> str:
    """Return a table of cells that are HTML already; `numbers` are the columns of numbers. No rows, no table.

    The first cell of each row is its heading, and stays in sight when the others are scrolled.
    """

    def kind(i: int) -> str:
        return " class='number'" if i in numbers else ""

    head = "".join(f"<th scope='col'{kind(i)}>{cell}</th>" for i, cell in enumerate(header))
    body = []
    for first, *others in rows:
        rest = "".join(f"<td{kind(i)}>{cell}</td>" for i, cell in enumerate(others, 1))
        body.append(f"<tr><th scope='row'>{first}</th>{rest}</tr>\n")
    if not body:
        return ""
    top = f"<thead><tr>{head}</tr></thead>\n" if any(header) else ""
    return f"<div class='wide'><table class='{css}'>{top}<tbody>{''.join(body)}</tbody></table></div>\n"


def picture(svg: str, caption: str) -> str:
    """Return a figure on a light card: as an image, so that names inside it cannot clash or do anything."""
    found = re.search(r'<svg[^>]*?\swidth="([\d.]+)pt"', svg)
    natural = round(float(found[1]) * 4 / 3) if found else 960
    data = base64.b64encode(svg.encode()).decode()
    text = escape(caption)
    return (
        f"<figure><div class='card'><img alt='{text}' src='data:image/svg+xml;base64,{data}' "
        f"style='max-width:{natural}px;min-width:{min(natural, LEAST_WIDTH)}px'></div>"
        f"<figcaption>{text}</figcaption></figure>\n"
    )


def link(address: str) -> str:
    """Return an address, as a link if it is one of the web."""
    text = escape(address)
    return f"<a href='{text}'>{text}</a>" if re.match(r"https?://", address) else text
