"""What the report says of trust in rows and of descriptions, and that it needs neither."""

from __future__ import annotations

import re
import warnings
from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest

from consilience import DistanceGraphFusion, make_multiview
from consilience.metrics import ari
from consilience.pages.report import write_report
from consilience.pages.report.sections import descriptions, row_trust
from consilience.stages import DescriptionTable

from .page_reader import read

HOSTILE = "</td><script>alert(1)</script>"


def fit(views, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DistanceGraphFusion(n_clusters=3, random_state=0, **parameters).fit(views)


@pytest.fixture(scope="module")
def made():
    return make_multiview(
        240, n_views=4, n_clusters=3, separation=6.0, scrambled=[0.3, 0, 0, 0], random_state=0
    )


@pytest.fixture(scope="module")
def model(made):
    return fit(made.views)


@pytest.fixture
def written(tmp_path):
    """Return a function: model -> the page about it."""
    return lambda model: read(write_report(tmp_path / "report.html", model, force=True))


def test_the_page_shows_how_much_rows_counted(model, written):
    page = written(model)
    rows = {row[0]: row[1:] for row in page.body("row-trust")}
    assert list(rows) == list(model.view_names_)
    trust = model.row_reliability_
    for i, name in enumerate(model.view_names_):
        matched, mean, little = rows[name]
        assert matched.strip(" %<>") in (f"{100 * model.matched_shares_[i]:.0f}", "99")
        assert float(mean) == pytest.approx(trust[:, i].mean(), abs=0.006)
        assert int(little.split()[0]) == (trust[:, i] < row_trust.LITTLE).sum()
    few = (trust < row_trust.LITTLE).sum(axis=0)
    assert few.argmax() == 0 and few[0] > 40  # the rows that were scrambled
    assert "'view_0'" in page.text and f"{few.sum()} rows count less than half" in page.text


def test_the_page_shows_the_descriptions(model, written):
    page, found = written(model), model.descriptions_
    rows = page.body("descriptions-tried")
    assert [int(row[1]) for row in rows] == list(found.n_neighbors)
    assert [float(row[2]) for row in rows] == pytest.approx(found.confirmation, abs=0.006)
    assert rows[0][0] == "as by default" and rows[0][3].endswith("%")
    assert re.search(r"The graph is a mean of \w+ descriptions of the features", page.short["descriptions"])
    assert page.short["descriptions"] in page.conclusions


def test_without_descriptions_and_trust_there_is_no_word_of_them(made, written):
    page = written(fit(made.views, row_weights="uniform", descriptions="default"))
    assert not {"row-trust", "descriptions-tried"} & set(page.tables)
    assert "descriptions" not in page.short and "How much rows counted" not in page.text


def test_trust_by_agreement_has_no_shares_of_matched_rows(made, written):
    page = written(fit(made.views, effort="low"))
    assert page.tables["row-trust"][0] == ["view", "mean trust", "count little"]
    assert "confirm hardly any of its neighbours" in page.text


def test_a_model_of_an_older_version_has_a_page(model, written):
    older = copy(model)
    del older.descriptions_, older.matched_shares_
    page = written(older)
    assert "descriptions-tried" not in page.tables and "row-trust" in page.tables


def test_views_that_lack_samples_or_are_left_out(made, written):
    views = {name: rows.copy() for name, rows in made.views.items()}
    views["view_1"][:60] = np.nan
    views["noise"] = np.random.default_rng(0).normal(size=(240, 5))
    fitted = fit(views)
    assert np.isnan(fitted.matched_shares_[-1])
    rows = {row[0]: row[1:] for row in written(fitted).body("row-trust")}
    assert "noise" not in rows and len(rows) == 4
    assert not any("nan" in cell for row in rows.values() for cell in row)


def test_names_of_views_stay_text(made, written):
    views = dict(zip([HOSTILE, "b", "c", "d"], made.views.values(), strict=True))
    page = written(fit(views))
    assert "<script>alert" not in page.source
    assert any(HOSTILE in row[0] for row in page.body("row-trust"))


def content(table, *, n_samples=100, kept=(0, 1)):
    return SimpleNamespace(descriptions=table, n_samples=n_samples, kept=list(kept))


def tried(names, ks, confirmation, share):
    return DescriptionTable(tuple(names), tuple(ks), np.array(confirmation), np.array(share))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        (
            content(tried(["default", "log"], [6, 6], [0.2, 0.5], [0.5, 0.5])),
            "is a mean of two descriptions of the features; logarithms of the features are confirmed best.",
        ),
        (
            content(tried(["default", "default"], [20, 6], [0.2, 0.5], [0.5, 0.5])),
            "the default, with 6 neighbours, is confirmed best.",
        ),
        (
            content(tried(["default", "rank"], [6, 6], [0.5, 0.2], [1.0, 0.0])),
            "descriptions of the features the default is confirmed best; the graph is made by it alone.",
        ),
        (content(tried(["default"], [6], [np.nan], [1.0]), n_samples=20_001), "more than 20,000 samples"),
        (content(tried(["default"], [6], [np.nan], [1.0])), "nothing else was left to choose"),
        (content(tried(["default", "log"], [6, 6], [np.nan] * 2, [1.0, 0.0]), kept=[0]), "takes two views"),
        (content(tried(["default", "log"], [6, 6], [np.nan] * 2, [1.0, 0.0])), "nothing could be compared"),
    ],
)
def test_what_is_said_of_descriptions(about, said):
    assert said in descriptions.SECTION.conclusion(about)


@pytest.mark.parametrize(
    ("low", "said"),
    [
        ([], "No row counted less than half."),
        ([(0, 1)], "1 row counts less than half, it is in view 'view_1'."),
        ([(0, 1), (1, 1)], "2 rows count less than half, all in view 'view_1'."),
        ([(0, 1), (1, 1), (2, 0)], "3 rows count less than half, most of them in view 'view_1' (2)."),
    ],
)
def test_what_is_said_of_trust(low, said):
    trust = np.full((9, 3), 0.9)
    for place in low:
        trust[place] = 0.1
    model = SimpleNamespace(row_reliability_=trust)
    about = SimpleNamespace(
        model=model, matched=np.ones(3), distrusts=True, view_names=["view_0", "view_1", "view_2"]
    )
    assert row_trust.trust_sentences(about)[-1] == said
    about.distrusts = False
    assert row_trust.trust_sentences(about) == ["Every row of every view counted fully."]


def test_where_no_two_views_agree_the_page_compares_each_view_alone(made, model, written):
    first, second = list(made.views.values())[1:3]
    shuffled = second[np.random.default_rng(0).permutation(len(second))]
    alone = fit({HOSTILE: first, "shuffled": shuffled})
    page = written(alone)
    rows = page.body("each-view")
    labels = [*alone.labels_by_view().values(), alone.labels_]
    assert [row[0] for row in rows] == [HOSTILE, "shuffled", "all views together"]
    for i, row in enumerate(rows):
        assert row[1] == ", ".join(map(str, sorted(np.bincount(labels[i]), reverse=True)))
        for j, cell in enumerate(row[2:]):
            if i == j:
                assert cell == ""
            else:
                assert float(cell.replace("−", "-")) == pytest.approx(ari(labels[i], labels[j]), abs=0.006)
    assert "Each view alone" in page.text and "Each view alone" not in written(model).text
