"""The page: everything in it, nothing outside it, every name escaped; and rows for CSV."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from consilience.pages.frame import whole_page
from consilience.pages.markup import Markup
from consilience.pages.reproduction import page
from consilience.reproduction.claims import Finding, judge
from consilience.reproduction.data_sets import _look
from consilience.reproduction.experiments import EXPERIMENTS
from consilience.reproduction.verdicts import FAILS, HOLDS, IN_PART, UNKNOWN

VOID = {"meta", "img", "br"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="720pt" height="200pt"><g id="axes_1"></g></svg>'
FACTS = {"versions": {"numpy": "2.1.0"}, "machine": "x86_64", "threads": 1, "seeds": [0, 1]}


class Reader(HTMLParser):
    """Reads a page: its text, tags with attributes, and whether what is opened is closed."""

    def __init__(self, content):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(content)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def having(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def written(paper, tmp_path):
    """Return a function: tables and changes -> the page, read."""

    def write(tables, svg=None, missing=(), facts=FACTS, quick=False, **options):
        path = tmp_path / "report.html"
        found = judge(tables, paper, quick=quick)
        page.write(path, tables, svg or {}, found, facts, missing, quick, **options)
        assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
        return Reader(path.read_text(encoding="utf-8"))

    return write


def rows_of(reader_content, title):
    """Return the cells of the table below a heading, tags removed."""
    table = reader_content.split(f"<h3>{title}</h3>")[1].split("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
    return [
        [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
        for row in rows
    ]


def test_sections_in_reading_order_and_links_that_lead_somewhere(invent, written):
    every = dict.fromkeys(("scores", "convergence", "affinity"), SVG)
    read = written(invent.tables(), every, [("ORL", "no file ORL.mat")])
    order = [one["id"] for one in read.having("section")]
    results = ["scores", "no-tuning", "2019", "sensitivity", "convergence", "affinity"]
    assert order == ["verdicts", *results, "times", "complexity", "eigengaps", "missing", "how"]
    assert [one["href"] for one in read.having("a") if one["href"].startswith("#")] == [
        f"#{n}" for n in order
    ]
    # Without figures two experiments have nothing to show; there is no link to them either.
    read = written(invent.tables())
    order = [one["id"] for one in read.having("section")]
    assert not {"convergence", "affinity", "missing"} & set(order) and len(order) == 9
    assert {one["href"] for one in read.having("a") if one["href"].startswith("#")} == {
        f"#{n}" for n in order
    }


def test_one_file_that_asks_for_nothing(invent, written):
    read = written(invent.tables(), dict.fromkeys(page._CAPTIONS, SVG), [("ORL", "no file")])
    assert not read.having("script") and not read.having("link") and not read.having("iframe")
    images = read.having("img")
    assert len(images) == len(page._CAPTIONS) and all(one["alt"] for one in images)
    assert all(one["src"].startswith("data:image/svg+xml;base64,") for one in images)
    empty = whole_page("", Markup(""))
    assert "@import" not in empty and "url(" not in empty
    assert all("960px" in one["style"] for one in images)  # 720 points


def test_every_figure_has_a_caption_that_says_what_to_look_at(invent, paper):
    pytest.importorskip("matplotlib", reason="needs the extra 'plot': consilience[plot]")
    from consilience.reproduction import figures

    tables = invent.tables(("MSRC_v1",))
    drawn = {stem for name in tables for stem in figures.draw(name, tables[name], paper)}
    assert drawn == set(page._CAPTIONS)


def test_verdicts_first_with_a_count(tmp_path):
    verdicts = [HOLDS, HOLDS, FAILS, IN_PART]
    found = [
        Finding(f"id{i}", f"claim {i}", "Results", verdict, f"It is -{i}.5 and 5 %.")
        for i, verdict in enumerate(verdicts)
    ]
    found.append(Finding("own", "our claim", "", UNKNOWN, "Not run: times."))
    page.write(tmp_path / "a.html", {}, {}, found, {}, [], False)
    text = Reader((tmp_path / "a.html").read_text()).text
    assert "Of 4 claims of the paper, 2 hold, 1 holds in part, 1 does not hold." in text
    assert "✗ does not hold claim 2 Results It is −2.5 and 5 %." in text
    assert "What else the numbers show verdict claim what the numbers say ? nobody can say our claim" in text


def test_scores_next_to_the_papers(invent, paper, tmp_path):
    rows = invent.tables(("MSRC_v1", "3Sources"))["scores"]
    by = {(row["set"], row["system"]): row for row in rows}
    by["MSRC_v1", "SGF"] |= {"NMI": 75.0, "NMI_std": 1.25}
    by["MSRC_v1", "DGF"] |= {"NMI": 90.0}
    by["MSRC_v1", "MCGC"] |= invent.failed(by["MSRC_v1", "MCGC"], "12 GB <needed>")
    page.write(tmp_path / "a.html", {"scores": rows}, {}, [], {}, [], False)
    content = (tmp_path / "a.html").read_text()
    header, first, second = rows_of(content, "NMI")
    assert header == ["", *(paper.systems[name].title for name in paper.tables["scores"])]
    cells = dict(zip(header, first, strict=True))
    assert cells[""] == "MSRC-v1" and second[0] == "3Sources"
    assert cells["SGF"] == "75.00 ±1.2578.91 −3.9" and cells["MCGC"] == "–71.80"
    assert dict(zip(header, second, strict=True))["SGF"] == "72.00 ±0.50"  # the paper prints none
    assert "<strong>90.00</strong>" in content and "<strong>75.00</strong>" not in content
    assert '<span class="far">−3.9</span>' in content and "<span>0.0</span>" in content
    assert "MCGC on MSRC-v1: 12 GB &lt;needed&gt;" in content
    assert all(f"<h3>{metric}</h3>" in content for metric in paper.experiments.metrics)


def test_the_best_is_bold_in_every_row_also_if_tied(invent, tmp_path):
    rows = invent.tables(("MSRC_v1",))["scores"]
    for row in rows:
        row["ACC"] = 88.5 if row["system"] in ("SGF", "RMSC") else 60.0
    page.write(tmp_path / "a.html", {"scores": rows}, {}, [], {}, [], False)
    assert (tmp_path / "a.html").read_text().count("<strong>88.50</strong>") == 2


def test_times_do_not_count_the_single_view_as_fastest(invent, tmp_path):
    rows = invent.tables(("MSRC_v1",))["times"]
    for row in rows:
        row["seconds"] = {"SC": 0.5, "AWP": 0.75}.get(row["system"], 2.0)
    page.write(tmp_path / "a.html", {"times": rows}, {}, [], {}, [], False)
    content = (tmp_path / "a.html").read_text()
    assert "<strong>0.75</strong>" in content and "<strong>0.5</strong>" not in content


def test_a_quick_run_carries_a_banner(invent, written):
    text = "Quick version: a 3 x 3 grid and 2 seeds; not the paper's protocol"
    assert text in written(invent.tables(), quick=True).text
    assert "Quick version" not in written(invent.tables()).text


def test_missing_sets_with_shape_and_where_to_get_them(invent, written, paper):
    reasons = [(name, _look(paper.sets[name], []).reason) for name in ("ORL", "NUS-WIDE")]
    read = written(invent.tables(), missing=[*reasons, ("Other<b>", "nobody knows it")])
    assert read.text.count("400 samples, 3 views, 40 classes") == 1
    assert "no file ORL.mat or ORL.npz" in read.text and "NUS-WIDE-OBJECT" in read.text
    links = {one["href"] for one in read.having("a")}
    assert {paper.sets["ORL"].url, paper.all_sets} <= links and not read.having("b")


def test_names_are_escaped(invent, written, paper):
    evil = "<script>alert('x')</script>&\""
    sets = {
        name: replace(one, title=f"{one.title}{evil}", source=evil, url="")
        for name, one in paper.sets.items()
    }
    systems = {name: replace(one, title=f"{one.title}{evil}") for name, one in paper.systems.items()}
    tables = invent.tables()
    tables["scores"][0] |= {"reason": evil, "parameters": {evil: evil}}
    tables["eigengaps"][0]["graph"] = evil
    tables["times"][-1]["stages"][evil] = 0.1
    facts = {evil: evil, "nested": {evil: [evil]}}
    other = replace(paper, sets=sets, systems=systems)
    read = written(tables, {"scores": SVG}, [("ORL", evil), (evil, evil)], facts, paper=other)
    assert not read.having("script") and read.text.count(evil) > 50
    assert all(set(one) <= {"class", "scope", "title"} for one in [*read.having("td"), *read.having("th")])


def test_how_it_was_made(written, invent):
    read = written({"complexity": invent.complexity()}, facts={**FACTS, "code": "https://example.org/a"})
    text = read.text
    assert "versions: numpy 2.1.0" in text and "seeds 0, 1" in text and "threads 1" in text
    others = [one.title for name, one in EXPERIMENTS.items() if name != "complexity"]
    assert f"not run {', '.join(others[:-1])} and {others[-1]}" in text
    assert {"href": "https://example.org/a"} in read.having("a")


def test_a_page_without_anything_is_still_one(tmp_path):
    page.write(tmp_path / "a.html", {}, {}, [], {}, [], False)
    text = Reader((tmp_path / "a.html").read_text()).text
    assert "on 0 of its 12 data sets. What is printed" in text and "not run Scores" in text


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("old")

    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        page.write(path, {}, {}, [], {}, [], False)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_tables_of_all_sets_are_small(invent, written, tmp_path, paper):
    written(invent.tables(tuple(paper.sets), side=11))
    assert (tmp_path / "report.html").stat().st_size < 300_000


def test_rows_for_csv(invent):
    flat = page.csv_rows(invent.tables()["affinity"])
    assert "pixels" not in flat[0] and flat[0]["seeds"] == "[0]" and flat[0]["NMI"] == 100.0
    rows = [*invent.tables()["times"][:2], {"set": "x", "own": {"a": [1]}}]
    flat = page.csv_rows(rows)
    assert all(list(row) == list(flat[0]) for row in flat)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(flat[0]))
    writer.writeheader()
    writer.writerows(flat)
    read = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert json.loads(read[0]["stages"]) == rows[0]["stages"] and json.loads(read[2]["own"]) == {"a": [1]}
    assert read[2]["seconds"] == "" and page.csv_rows([]) == []
