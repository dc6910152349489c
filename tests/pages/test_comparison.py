"""The page of a comparison: all figures, all warnings, and names that stay text."""

import numpy as np
import pytest

from consilience import Views, compare, make_multiview
from consilience.comparison import DataSet
from consilience.comparison.summary import cells, legend, notes, panels, summarize
from consilience.pages.comparison import TITLE, comparison_page
from consilience.pages.markup import escape

HOSTILE = "<img src=x onerror=alert(1)>"


class Cut:
    """A system that cuts the samples by their first feature."""

    takes = "views"

    def __init__(self, **parameters):
        self.parameters = parameters

    def get_params(self, deep=False):
        return {**self.parameters, "own": HOSTILE}

    def fit(self, views):
        ranks = np.argsort(np.argsort(views.arrays[0][:, 0]))
        self.labels_ = ranks * self.parameters["n_clusters"] // views.n_samples
        return self


class Failing(Cut):
    def fit(self, views):
        raise ValueError(HOSTILE)


@pytest.fixture(scope="module")
def summary():
    made = make_multiview(40, n_views=2, n_clusters=2, separation=3.0, random_state=0)
    views = Views({HOSTILE: made.views["view_0"], "b": made.views["view_1"]})
    systems = {"A": Cut, "<b>B</b>": Cut, "Broken": Failing}
    data = DataSet("data", views, made.y, sources=(f"{HOSTILE}.csv",))
    found = compare(data, systems, seeds=2, n_resamples=2)
    return summarize(found, found.sets[0])


@pytest.fixture(scope="module")
def page(summary):
    return comparison_page(summary, panels(summary))


def test_every_cell_note_and_sentence_is_there(summary, page):
    header, rows = cells(summary)
    for text in header + [row[0] for row in rows]:
        assert escape(text) in page
    for row in rows:
        for value in row[1:]:
            mean, sign, spread = value.partition("±")
            assert (f"{mean}<small>±{spread}</small>" if sign else f">{escape(mean)}<") in page
    sentences = [*notes(summary), *summary["findings"], *legend(summary)]
    assert len(sentences) > 5 and all(f">{escape(text)}</p>" in page for text in sentences)
    assert f"<h1>{TITLE}</h1>" in page and "3 systems on 40 samples, 2 clusters." in page


def test_names_stay_text(page):
    assert "<img" not in page and "<b>B" not in page and "<script" not in page
    assert page.count(escape(HOSTILE)) >= 4  # the view, its source, the parameter, the reason


def test_it_fetches_and_runs_nothing(page):
    assert "http" not in page.replace("http-equiv", "")
    assert escape("script-src 'none'") in page


def test_how_it_was_made_says_what_is_common_once(summary, page):
    how = page[page.index("How it was made") :]
    assert "n_clusters = 2" in how and "own = " in how and summary["data_fingerprint"] in how
    assert "seeds = [0, 1]" in how and f"resamples = 2 of {summary['subset_size']} samples" in how


def test_warnings_have_a_table_only_if_there_are_any(summary, page):
    assert "<h2>Warnings</h2>" not in page
    odd = {**summary["systems"][0], "warnings": [{"text": HOSTILE, "fits": 6}]}
    other = comparison_page({**summary, "systems": [odd, *summary["systems"][1:]]}, panels(summary))
    assert "<h2>Warnings</h2>" in other and "<img" not in other and ">6</td>" in other
