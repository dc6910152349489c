"""A reader of pages, for tests: words, tables, elements and scripts of a page of HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser


class Page(HTMLParser):
    """What is in a page: its words, its tables, its elements and its scripts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.conclusions: list[str] = []
        self.short: dict[str, str] = {}
        self.all_tables: dict[str, list[list[list[str]]]] = {}
        self._section: str | None = None
        self._table: list[list[str]] = []
        self._in_script = self._in_style = self._in_cell = self._in_conclusion = False
        self.feed(source)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag == "table":
            self._table = []
            name = attributes.get("id") or attributes["aria-label"]
            self.tables[name] = self._table
            self.all_tables.setdefault(name, []).append(self._table)
        if tag == "a" and self._section is None and "class" not in attributes:
            self._section = attributes["href"].lstrip("#")  # of what is said in short
        if tag == "dd":
            self.short[self._section] = ""
        if tag == "tr":
            self._table.append([])
        if tag in ("td", "th"):
            self._table[-1].append("")
            self._in_cell = True
        if tag == "p" and attributes.get("class") == "conclusion":
            self._in_conclusion = True
            self.conclusions.append("")
        self._in_script, self._in_style = tag == "script", tag == "style"

    def handle_endtag(self, tag):
        self._in_script = self._in_style = False
        self._in_cell = self._in_cell and tag not in ("td", "th")
        self._in_conclusion = self._in_conclusion and tag != "p"
        if tag == "dd":
            self._section = None
        if tag == "header":
            self._section = "done"

    def handle_data(self, data):
        if self._in_script:
            self.scripts.append(data)
        elif not self._in_style:
            self.words.append(data)
            if self._in_cell:
                self._table[-1][-1] += data
            if self._in_conclusion:
                self.conclusions[-1] += data
            if self._section in self.short and self._section != "done":
                self.short[self._section] += data

    def body(self, table):
        return self.tables[table][1:]

    @property
    def payload(self):
        return json.loads(self.scripts[0])


def read(path) -> Page:
    return Page(path.read_text(encoding="utf-8"))
