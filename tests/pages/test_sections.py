"""Sections of the report: those of one's own, their order, what applies, and that their names stay text."""

from __future__ import annotations

import warnings

import pytest

from consilience import DistanceGraphFusion, make_multiview
from consilience.inspection import inspect
from consilience.pages.markup import Column, element, paragraphs, table
from consilience.pages.report import SECTIONS, ReportContent, Section, write_report

from .page_reader import read

HOSTILE = "</h2><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def fitted():
    made = make_multiview(120, n_views=2, n_clusters=3, separation=5.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(made.views)
    return model, inspect(model)


@pytest.fixture
def written(fitted, tmp_path):
    """Return a function: sections -> the page."""
    model, found = fitted

    def write(sections, **settings):
        path = tmp_path / "report.html"
        return read(write_report(path, model, inspection=found, sections=sections, force=True, **settings))

    return write


def names(page):
    return [attributes["id"] for tag, attributes in page.elements if tag == "section"]


def links(page):
    """Return where the conclusions at the top of the page lead to, in order."""
    return [name for name in page.short if name != "done"]


def sizes(content: ReportContent):
    counts = content.clusters.sizes
    rows = [[str(i), str(n)] for i, n in enumerate(counts)]
    return element(
        "div",
        paragraphs([f"{content.n_samples} samples."]),
        table([Column("cluster"), Column("samples", "number")], rows, name="own-sizes"),
    )


OWN = Section(
    "sizes", "How large is each?", sizes, conclusion=lambda content: f"{content.n_clusters} in all."
)


def test_a_section_of_ones_own_is_shown_where_it_stands(written, fitted):
    plain = names(written(SECTIONS))
    for at in (0, 2, len(SECTIONS)):
        page = written([*SECTIONS[:at], OWN, *SECTIONS[at:]])
        before = [one.name for one in SECTIONS[:at] if one.name in plain]
        assert names(page) == [*before, "sizes", *(name for name in plain if name not in before)]
        assert links(page).index("sizes") == len([name for name in before if name in links(page)])
        assert page.short["sizes"] == "3 in all."
        assert [int(row[1]) for row in page.body("own-sizes")] == fitted[1].clusters.sizes.tolist()
        assert ("h2", {"id": "sizes-title"}) in page.elements


def test_sections_come_in_the_order_given(written):
    there = names(written(SECTIONS))
    page = written(SECTIONS[::-1])
    assert names(page) == there[::-1]
    skip = next(a for tag, a in page.elements if tag == "a" and a.get("class") == "skip")
    assert skip["href"] == f"#{there[-1]}"


def test_names_titles_and_conclusions_are_text(written):
    own = Section(
        name=HOSTILE,
        title=HOSTILE,
        body=lambda content: element("p", HOSTILE, id="body-of-it"),
        conclusion=lambda content: HOSTILE,
    )
    n_scripts = len(written(SECTIONS).scripts)
    page = written([own, *SECTIONS])
    assert len(page.scripts) == n_scripts
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert "<script>alert" not in page.source and "onerror=alert(1)>" not in page.source
    assert names(page)[0] == HOSTILE
    assert page.text.count(HOSTILE) == 5  # skip link, term, conclusion, heading, body


def test_a_section_that_does_not_apply_is_not_made(written):
    def never(content):
        raise AssertionError("made")

    absent = Section(
        "absent", "Not here", never, conclusion=never, applies=lambda content: content.n_views > 9
    )
    present = Section("present", "Here", sizes, applies=lambda content: content.n_views == 2)
    page = written([absent, present, *SECTIONS])
    assert "Not here" not in page.text and names(page)[0] == "present"
    assert "present" not in links(page)  # it has no conclusion


def test_what_applies_depends_on_the_fit(written, fitted):
    """The section about the number of clusters is only for fits that chose it."""
    number = next(one for one in SECTIONS if one.title.startswith("How many clusters"))
    assert number.name not in names(written(SECTIONS))
    assert len({one.name for one in SECTIONS}) == len(SECTIONS)


def test_own_sections_alone_are_a_page_too(written):
    page = written([OWN], title="Only sizes")
    assert names(page) == ["sizes"] == links(page) and "Only sizes" in page.text
    assert names(written([])) == []


def test_the_body_gets_all_that_the_report_is_about(written, fitted):
    model, found = fitted
    seen = []
    written(
        [Section("look", "Look", lambda content: seen.append(content) or element("p", "seen"))], title="t"
    )
    (content,) = seen
    assert content.model is model and content.found is found and content.title == "t"
    assert content.fusion_help is None and content.scores is None
