"""The page about a fit: what it says, that names stay text, how large it is, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import warnings
from copy import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from consilience import (
    DistanceGraphFusion,
    SimilarityGraphFusion,
    Views,
    fuse_graphs,
    load_digits_views,
    make_multiview,
)
from consilience.inspection import does_fusion_help, inspect
from consilience.metrics import ari, clustering_accuracy, nmi, purity
from consilience.pages.report import SECTIONS, ReportContent, write_report
from consilience.pages.report.page import make_page
from consilience.pages.report.sample_map import MOST_BINS, MOST_DRAWN, drawn_samples
from consilience.words import decimal, percent

from .page_reader import Page, read

pytestmark = pytest.mark.long

HOSTILE_SAMPLE = "<img src=x onerror=alert(1)>"
HOSTILE_VIEW = "</script><script>alert(1)</script>"


def fit(sample_views, n_clusters=3, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a fit warns of is tested elsewhere; a report must not warn
        return DistanceGraphFusion(n_clusters=n_clusters, random_state=0, **parameters).fit(sample_views)


@pytest.fixture(scope="module")
def sample():
    return make_multiview(400, n_clusters=4, separation=6.0, scrambled=[0.3, 0, 0, 0], random_state=0)


@pytest.fixture(scope="module")
def model(sample):
    return fit(sample.views, 4)


@pytest.fixture(scope="module")
def found(model):
    return inspect(model)


@pytest.fixture
def written(model, found, tmp_path):
    """Return a function: settings of `write_report` -> the page."""

    def write(**settings):
        return read(write_report(tmp_path / "report.html", model, inspection=found, force=True, **settings))

    return write


def test_the_answer_stands_first_with_sizes_and_scores(written, model, sample):
    page = written(y=sample.y, title="Four views of <things>")
    first = page.conclusions[0]
    assert (
        first == "400 samples in 4 views were put into 4 clusters of 100 samples each by DistanceGraphFusion."
    )
    sizes = [int(row[1]) for row in page.body("clusters")]
    assert sizes == np.bincount(model.labels_).tolist()
    for name, score in (("NMI", nmi), ("ACC", clustering_accuracy), ("ARI", ari), ("purity", purity)):
        assert f"{name} {score(sample.y, model.labels_):.3f}" in page.text
    assert "Four views of <things>" in page.text
    headings = ["The answer", "Can I trust it?", "Which view disagrees where?", "Does fusion help?"]
    places = [page.source.index(f">{heading}</h2>") for heading in [*headings, "How it was made"]]
    assert places == sorted(places)


def test_without_labels_there_are_no_scores(written):
    assert "NMI" not in written().text


def test_every_flagged_row_is_listed_with_what_a_flag_means(written, found):
    page = written()
    listed_rows = {(row[0], row[1]) for row in page.body("flagged")}
    samples, views = np.nonzero(found.samples.flagged)
    assert listed_rows == {(str(s), found.samples.names[i]) for s, i in zip(samples, views, strict=True)}
    assert len(listed_rows) > 90
    assert "false flags at 5 % (the false discovery rate)" in page.text
    n = int(found.samples.n_flagged[0])
    assert f"View 'view_0' disagrees: {n} of its 400 rows ({percent(n / 400)}) are flagged" in page.text


def test_tables_hold_the_numbers_of_the_inspection(written, found):
    page = written()
    contributions = [float(row[1].rstrip(" %")) for row in page.body("views-table")]
    np.testing.assert_allclose(contributions, 100 * found.views.contributions, atol=0.051)
    shares = page.tables["Share of neighbours that two views have in common, beyond chance."][1:]
    assert shares[0][2] == decimal(found.agreement.shares[0, 1])
    assert shares[2][2] == decimal(found.agreement.shares[2, 1])
    scores = [[float(cell) for cell in row[2:]] for row in page.body("clusters-views")]
    np.testing.assert_allclose(scores, found.clusters.scores, atol=0.0051)
    least = [float(row[3]) for row in page.body("least-sure")]
    np.testing.assert_allclose(least, np.sort(found.confidence.lowest)[:20], atol=0.0051)
    pairs = page.body("pairs")
    assert [[int(row[0]), int(row[1])] for row in pairs] == found.pairs.pairs.tolist()
    assert [row[2] for row in pairs] == [f"view_{i}" for i in found.pairs.odd_view]
    opinions = [[float(cell) for cell in row[6:]] for row in pairs]
    np.testing.assert_allclose(opinions, found.pairs.opinions, atol=0.0051)


def test_the_page_points_at_shuffled_rows_of_the_digits(tmp_path):
    views = dict(load_digits_views(return_X_y=True)[0])
    rng = np.random.default_rng(0)
    rows = rng.choice(1797, 539, replace=False)
    views["pixels"] = views["pixels"].copy()
    views["pixels"][rows] = views["pixels"][rng.permutation(rows)]
    page = read(write_report(tmp_path / "digits.html", fit(views, 10)))
    assert "View 'pixels' disagrees:" in page.conclusions[3]
    named = {int(row[0]) for row in page.body("flagged") if row[1] == "pixels"}
    right = len(named & set(rows.tolist()))
    assert right > 0.9 * len(named)
    assert right > 0.8 * len(rows)


def test_charts_get_finite_numbers_of_every_sample_drawn(written, found):
    data = written().payload
    drawn = data["map"]
    assert len(drawn["x"]) == len(drawn["names"]) == 400
    assert drawn["clusters"] == found.labels.tolist()
    np.testing.assert_allclose(drawn["scores"], found.samples.scores, atol=0.0051)
    assert [one == [0] for one in drawn["flags"]] == found.samples.flagged[:, 0].tolist()
    counts = np.array(data["confidence"]["counts"])
    assert counts.sum(axis=1).tolist() == [100] * 4
    assert counts[:, 0].sum() == (found.confidence.lowest < 0.25).sum()


def test_bins_of_the_heat_map_keep_clusters_apart_and_lose_nobody(written, found):
    conflicts = written().payload["conflicts"]
    assert MOST_BINS <= len(conflicts["clusters"]) <= MOST_BINS + 4
    assert all(a <= b for a, b in pairwise(conflicts["clusters"]))
    sizes = np.array(conflicts["sizes"])
    assert sizes.sum() == 400
    means = (np.array(conflicts["means"]) * sizes[:, None]).sum(axis=0) / 400
    np.testing.assert_allclose(means, found.samples.scores.mean(axis=0), atol=0.005)
    assert np.sum(conflicts["flagged"], axis=0).tolist() == found.samples.n_flagged.tolist()


def test_what_is_not_finite_is_null(sample, tmp_path):
    mask = np.ones((400, 4), dtype=bool)
    mask[:50, 1] = False
    model = fit(Views(sample.views, mask=mask), 4)
    page = read(write_report(tmp_path / "report.html", model))
    data = page.payload
    assert [row[1] for row in data["map"]["scores"][:50]] == [None] * 50
    assert None not in [row[1] for row in data["map"]["scores"][50:]]
    # What is counted are rows that were seen, not samples.
    judged = np.array(data["conflicts"]["judged"])
    assert judged.sum(axis=0).tolist() == [400, 350, 400, 400]
    panel = page.all_tables["Its clusters, the worst first."][1][1:]
    seen = np.bincount(model.labels_[50:], minlength=4)
    assert {int(row[0]): int(row[2].split(" of ")[1]) for row in panel} == dict(enumerate(seen.tolist()))


def test_hostile_names_stay_text(sample, tmp_path):
    unseen = "a\u202eb\u2066c\u200fd\x00e\x9ff\ng"
    names = [HOSTILE_SAMPLE, "\u2028&amp;\u2029", "x" * 10_000, "\ud800", unseen]
    names += [f"s{i}" for i in range(395)]
    views = dict(zip([HOSTILE_VIEW, "'\"&", "<!--", "\u202eb"], sample.views.values(), strict=True))
    path = tmp_path / "report.html"
    texts = {"notes": [HOSTILE_VIEW, unseen], "command": HOSTILE_VIEW, "title": HOSTILE_VIEW + "\u202e"}
    write_report(path, fit(views, 4), sample_names=names, **texts)
    page = read(path)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 4
    assert "img" not in tags
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.payload["views"][0] == HOSTILE_VIEW
    assert page.payload["map"]["names"][:2] == names[:2]
    assert len(page.payload["map"]["names"][2]) < 100
    assert page.payload["map"]["names"][4] == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg"
    assert page.payload["views"][3] == page.body("views-table")[3][0] == "\ufffdb"
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x7f-\x9f]", page.source)
    assert page.body("views-table")[0][0] == HOSTILE_VIEW
    assert page.text.count(HOSTILE_VIEW) > 5
    assert not set("<>&\u2028\u2029") & set(page.scripts[0])
    assert ("option", {"value": "0"}) in page.elements


def test_the_page_asks_nobody_for_anything(written):
    page = written()
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    styles = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
    assert len(styles) == 1
    assert not re.search(r"url\(|@import|@font-face", styles[0])
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    for script in page.scripts[1:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "'unsafe-inline'" not in policy.split("style-src")[0]


def test_a_reader_without_scripts_has_every_section_in_words(written):
    page = written()
    ids = [attributes.get("id") for _, attributes in page.elements]
    assert len(set(filter(None, ids))) == len(list(filter(None, ids)))
    for chart in (a for _, a in page.elements if a.get("class") == "chart"):
        assert chart["role"] == "img"
        assert len(chart["aria-label"]) > 20
    assert {"clusters", "least-sure", "views-table", "clusters-views", "flagged", "pairs"} <= set(page.tables)
    assert "need JavaScript; all text and tables work without it" in page.text


def test_the_same_fit_gives_the_same_bytes(model, tmp_path):
    pages = [write_report(tmp_path / f"{i}.html", model).read_bytes() for i in range(2)]
    assert pages[0] == pages[1]


@pytest.mark.filterwarnings("ignore:The graph has:UserWarning")
def test_the_code_on_the_page_makes_the_fit_again(sample, tmp_path, monkeypatch):
    metric = dict.fromkeys(sample.views, "euclidean")
    model = SimilarityGraphFusion(
        n_clusters=4, random_state=0, n_neighbors=9, metric=metric, view_weights=np.array([1.0, 2, 2, 2])
    ).fit(sample.views)
    page = read(write_report(tmp_path / "first.html", model, fdr=0.1, command="consilience report a b"))
    code = re.search(r'<code id="code">(.*?)</code>', page.source, re.DOTALL).group(1)
    code = code.replace("&quot;", '"').replace("&#x27;", "'")
    assert "consilience report a b" in page.text
    assert "n_neighbors=9" in code
    monkeypatch.chdir(tmp_path)
    space = {"given": sample.views}
    exec(code.replace("views = ...", "views = given"), space)
    assert (space["model"].labels_ == model.labels_).all()
    again = read(tmp_path / "report.html")
    assert again.body("views-table") == page.body("views-table")
    assert again.body("flagged") == page.body("flagged")
    assert "contenders" in again.tables


@pytest.mark.filterwarnings("ignore:The graph has:UserWarning")
def test_parameters_that_cannot_be_written_are_said_to_be_so(sample, tmp_path):
    model = DistanceGraphFusion(n_clusters=4, random_state=np.random.RandomState(0)).fit(sample.views)
    page = read(write_report(tmp_path / "report.html", model))
    assert "# random_state was a RandomState, which cannot be written here." in page.text
    unseeded = DistanceGraphFusion(n_clusters=4).fit(sample.views)
    page = read(write_report(tmp_path / "unseeded.html", unseeded))
    assert "No seed was given" in page.text


def test_how_it_was_made(written, model):
    page = written(notes=["Something was rescaled."])
    assert "Something was rescaled." in page.text
    assert model.data_fingerprint_ in page.text
    for name in ("numpy", "scipy", "scikit-learn", "numba", "python", "consilience"):
        assert name in [row[0] for row in page.body("Resolved values, data and versions.")]
    parameters = {row[0]: row[1:] for row in page.body("Parameters of the DistanceGraphFusion.")}
    assert parameters["n_clusters"] == ["4", "set"]
    assert parameters["beta"] == ["1.0", "default"]
    assert set(parameters) == set(model.get_params())


def test_parameters_are_those_of_the_fit_whatever_was_set_later(sample, tmp_path):
    model = fit(sample.views, 4).set_params(n_clusters=7, beta=5.0, random_state=3)
    page = read(write_report(tmp_path / "report.html", model))
    parameters = {row[0]: row[1:] for row in page.body("Parameters of the DistanceGraphFusion.")}
    assert parameters["n_clusters"] == ["4", "set"]
    assert parameters["beta"] == ["1.0", "default"]
    assert ["seed (random_state)", "0"] in page.body("Resolved values, data and versions.")
    code = re.search(r'<code id="code">(.*?)</code>', page.source, re.DOTALL).group(1)
    assert "n_clusters=4," in code and "beta=1.0," in code and "random_state=0," in code


def test_the_code_holds_every_parameter_that_matters(written, model):
    code = re.search(r'<code id="code">(.*?)</code>', written().source, re.DOTALL).group(1)
    named = set(re.findall(r"^    (\w+)=", code, re.MULTILINE))
    assert named == set(model.get_params()) - {"n_jobs", "verbose", "callback"}


def test_warnings_are_those_of_the_fit_unless_others_are_given(sample, tmp_path):
    model = fit({**sample.views, "constant": np.ones((400, 2))}, 4)
    page = read(write_report(tmp_path / "report.html", model))
    assert any("'constant' is constant" in note for note in model.warnings_)
    assert all(note in page.text for note in model.warnings_)
    other = read(write_report(tmp_path / "other.html", model, notes=["Something else."]))
    assert "Something else." in other.text
    assert "is constant" not in other.text


def test_what_is_known_of_fusing_is_shown(written, sample):
    help = does_fusion_help(sample.views, 4, y=sample.y, n_resamples=2, random_state=0)
    page = written(fusion_help=help)
    assert page.conclusions[4] == page.short["help"] == help.sentence
    rows = page.body("contenders")
    assert [row[0] for row in rows] == list(help.names)
    np.testing.assert_allclose([float(row[2]) for row in rows], help.shown, atol=0.00051)
    np.testing.assert_allclose([float(row[-1]) for row in rows], help.scores["ARI"], atol=0.00051)
    skipped = written(fusion_help=replace(help, skipped={"concatenation": "It would not fit."}))
    assert "'concatenation' was not compared. It would not fit." in skipped.text


def test_a_verdict_says_what_it_is_about_if_not_about_this_fit(sample, tmp_path):
    help = does_fusion_help(sample.views, 4, n_resamples=2, random_state=0)
    about = "not about this very fit"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = SimilarityGraphFusion(n_clusters=4, random_state=0).fit(sample.views)
    page = read(write_report(tmp_path / "sgf.html", other, fusion_help=help))
    assert f"{about} (a SimilarityGraphFusion)." in page.conclusions[4]
    assert about in page.short["help"]
    page = read(
        write_report(tmp_path / "beta.html", fit(sample.views, 4, gamma=1.0, beta=0.1), fusion_help=help)
    )
    assert f"{about} (with its own beta and gamma)." in page.conclusions[4]
    same = fit(sample.views, 4, n_neighbors=12, n_jobs=1)  # what the comparison takes over, or is no matter
    assert about not in read(write_report(tmp_path / "same.html", same, fusion_help=help)).text


def test_what_is_not_known_of_fusing_is_said_how_to_get(written):
    assert "model.report(path, views=views)" in written().conclusions[4]


def test_why_nothing_is_known_of_fusing_is_said(written):
    page = written(fusion_help="There are too few samples for resamples.")
    assert page.conclusions[4] == page.short["help"] == "There are too few samples for resamples."


def reported(tmp_path, views, n_clusters=3, **parameters):
    model = fit(views, n_clusters, **parameters)
    return read(write_report(tmp_path / "report.html", model, force=True))


def conclusions(tmp_path, views, n_clusters=3, **parameters):
    return " ".join(reported(tmp_path, views, n_clusters, **parameters).conclusions)


def test_a_number_that_was_chosen_has_a_section(sample, tmp_path):
    model = fit(sample.views, "auto")
    found = model.cluster_selection_
    page = read(write_report(tmp_path / "report.html", model))
    assert page.short["number"] == page.conclusions[1] == found.reason
    assert [row[0] for row in page.body("candidates")] == [str(c) for c in found.n_clusters]
    assert [row[-1] for row in page.body("candidates")] == [decimal(float(x)) for x in found.scores]
    drawn = page.payload["selection"]
    assert drawn["chosen"] == found.chosen == 4
    np.testing.assert_allclose(drawn["stability"], found.stability, rtol=1e-3)
    assert ("div", "chart-selection") in [(tag, attributes.get("id")) for tag, attributes in page.elements]
    assert "behind 4, the number of clusters chosen" in page.text
    assert page.payload["eigenvalues"]["was"] == "chosen"


def test_a_number_that_was_given_has_none(written):
    page = written()
    assert "number" not in page.short and page.payload["selection"] is None
    assert "How many clusters?" not in page.text
    assert page.payload["eigenvalues"]["was"] == "asked for"


def test_nothing_that_stands_out_is_said(tmp_path):
    page = reported(tmp_path, make_multiview(200, n_clusters=1, random_state=0).views, "auto")
    assert page.short["number"].startswith("1 cluster: no number from 2 to 20 stands out")
    assert "nothing stands out" in page.text


def test_one_view(tmp_path):
    views = make_multiview(60, n_views=1, n_clusters=3, separation=6.0, random_state=0).views
    text = conclusions(tmp_path, views)
    assert "no other that could disagree" in text
    assert "nothing to fuse it with" in text


def test_views_that_agree(tmp_path):
    views = make_multiview(300, n_views=3, n_clusters=3, separation=6.0, random_state=0).views
    text = conclusions(tmp_path, views)
    assert "All three views agree with each other; no row of theirs is flagged." in text


def test_of_two_views_nobody_can_tell_which_is_at_fault(tmp_path):
    made = make_multiview(300, n_views=2, n_clusters=3, separation=6.0, scrambled=[0.2, 0], random_state=0)
    page = reported(tmp_path, made.views)
    for text in (page.conclusions[3], page.short["views"]):
        assert "contradict each other" in text
        assert "nobody can say which view is at fault" in text
        assert "disagrees" not in text
    assert "misplaced" not in page.tables["views-table"][0]
    assert "are misplaced" not in page.text


def test_two_views_that_agree_keep_the_caveat(tmp_path):
    views = make_multiview(300, n_views=2, n_clusters=3, separation=9.0, random_state=0).views
    text = reported(tmp_path, views).short["views"]
    assert text.startswith("Views 'view_0' and 'view_1' agree with each other; no row of theirs is flagged.")
    assert text.endswith("Where two views differ, nobody can say which view is at fault.")


def test_a_view_that_agrees_with_no_other_is_called_that_and_no_more(tmp_path):
    made = make_multiview(300, n_views=3, noise_views=1, n_clusters=3, separation=6.0, random_state=0)
    page = reported(tmp_path, made.views)
    alone = (
        "View 'noise_0' was left out of the fusion: it agrees with no other view about who is near whom, "
        "beyond chance."
    )
    others = "The three views that were kept agree with each other; no row of theirs is flagged."
    assert page.conclusions[3] == page.short["views"] == f"{alone} {others}"
    assert page.body("views-table")[3][-1] == "–"
    assert "It contradicts them as a whole: no single row is named." in page.text
    assert "of its rows are misplaced" not in page.text


def test_views_that_say_nothing_or_repeat_another(sample, tmp_path):
    first = next(iter(sample.views.values()))
    page = reported(tmp_path, {**sample.views, "constant": np.ones((400, 2)), "copy": first}, 4)
    text = page.conclusions[3]
    assert (
        "View 'constant' was left out of the fusion: it says nothing, for all samples look the same." in text
    )
    assert "View 'copy' was left out of the fusion: it is a copy of 'view_0', or nearly." in text
    assert text.index("disagrees") < text.index("'constant'")  # the most serious first


@pytest.mark.parametrize(
    ("other", "says", "why"),
    [
        (np.ones((400, 2)), "says anything", "it says nothing, for all samples look the same"),
        ("copy", "was kept", "it is a copy of 'view_1', or nearly"),
    ],
)
def test_one_view_that_says_anything(sample, tmp_path, other, says, why):
    only = sample.views["view_1"]
    page = reported(tmp_path, {"view_1": only, "other": only if isinstance(other, str) else other}, 4)
    assert page.conclusions[3] == (
        f"Only view 'view_1' {says}: there is nothing to compare it with. View 'other' was left out of the "
        f"fusion: {why}."
    )
    assert "The objective was 0 from the start" in page.text
    assert "fell from 0 to 0" not in page.text


def test_when_no_two_views_agree_no_row_is_called_misplaced(tmp_path):
    rng = np.random.default_rng(0)
    page = reported(tmp_path, {name: rng.normal(size=(200, 5)) for name in "abc"})
    assert page.conclusions[3] == page.short["views"]
    assert page.short["views"].startswith(
        "No two views that were kept agree about who is near whom more than chance explains"
    )
    assert [row[-1] for row in page.body("views-table")] == ["–"] * 3
    assert "As no two views agree, scores and flags mean little here." in page.text
    assert "An estimated" not in page.text
    pair = reported(tmp_path, {name: rng.normal(size=(200, 5)) for name in "ab"})
    assert "nobody can say which view is at fault" in pair.short["views"]


def test_views_that_have_seen_different_samples(tmp_path):
    made = make_multiview(200, n_views=2, n_clusters=3, separation=4.0, random_state=0)
    mask = np.arange(200)[:, None] // 100 == np.arange(2)
    page = reported(tmp_path, Views(made.views, mask=mask))
    assert page.conclusions[3] == "No two views have seen the same samples: nothing can be compared."


def test_views_left_out_are_counted_in_short(tmp_path):
    made = make_multiview(300, n_views=3, noise_views=4, n_clusters=3, separation=6.0, random_state=0)
    text = reported(tmp_path, made.views).short["views"]
    assert (
        "Views 'noise_0', 'noise_1' and two more views were left out of the fusion: they agree with" in text
    )


def test_views_with_flags_are_counted_in_short(sample, found, model, tmp_path):
    flagged = found.samples.flagged.copy()
    flagged[:30, 1], flagged[:20, 2], flagged[:1, 3] = True, True, True
    more = replace(found, samples=replace(found.samples, flagged=flagged))
    page = read(write_report(tmp_path / "report.html", model, inspection=more))
    several = int(flagged[:, 2:].sum())
    assert f"{several} rows of two more views are flagged." in page.short["views"]
    assert page.short["views"].index("'view_0'") < page.short["views"].index("'view_1'")
    assert "'view_2'" not in page.short["views"]
    assert "In view 'view_3' 1 of 400 rows (< 1 %) is flagged" in page.conclusions[3]
    assert "1 of its 400 rows is flagged (< 1 %)." in page.text


def test_views_that_agree_with_some_others_only(found, model, tmp_path):
    significant = found.agreement.significant.copy()
    significant[0, 1] = significant[1, 0] = False
    apart = replace(found, agreement=replace(found.agreement, significant=significant))
    page = read(write_report(tmp_path / "report.html", model, inspection=apart))
    assert page.conclusions[3].endswith("No more than by chance agree 'view_0' with 'view_1'.")
    significant[3] = significant[:, 3] = False
    apart = replace(found, agreement=replace(found.agreement, significant=significant))
    page = read(write_report(tmp_path / "alone.html", model, inspection=apart))
    assert page.short["views"].startswith(
        "View 'view_3' agrees with no other about who is near whom, beyond chance. View 'view_0' disagrees"
    )
    assert "'view_0' with 'view_1'" in page.conclusions[3]
    assert "'view_3' with" not in page.conclusions[3]


def test_rows_that_seem_misplaced_but_cannot_be_named(found, model, tmp_path):
    none = np.zeros_like(found.samples.flagged)
    shares = np.array([0.3, 0.0, 0.1, 0.0])
    hidden = replace(found, samples=replace(found.samples, flagged=none, misplaced_shares=shares))
    page = read(write_report(tmp_path / "report.html", model, inspection=hidden))
    assert page.conclusions[3] == (
        "No row of the four views that can be compared is flagged. An estimated 30 % of the rows of "
        "'view_0' and 10 % of the rows of 'view_2' are misplaced, but none of them can be named."
    )
    assert "An estimated 30 % of its rows are misplaced; none of them can be named." in page.text
    assert "not all of them" not in page.text


def test_one_cluster(sample, tmp_path):
    text = conclusions(tmp_path, sample.views, 1)
    assert "all in one cluster" in text
    assert "confidence says nothing" in text
    assert "1 was asked for (broken line)" in read(tmp_path / "report.html").text


def test_a_graph_in_pieces(tmp_path):
    views = make_multiview(300, n_clusters=5, separation=60.0, random_state=0).views
    page = reported(tmp_path, views)
    text = "The unified graph is in five pieces of 60 samples each: more than the 3 clusters asked for"
    assert text in page.conclusions[2]
    assert page.short["trust"].startswith(text)
    assert "is largest behind 5, not behind the 3 asked for" in page.conclusions[2]
    fewer = reported(tmp_path, views, 6)
    assert "in five pieces of 60 samples each: nothing connects" in fewer.short["trust"]


def test_a_fusion_that_did_not_converge(sample, tmp_path):
    page = reported(tmp_path, sample.views, 4, max_iter=1)
    assert page.short["trust"].startswith("The fusion did not converge (max_iter reached, after 1 round)")
    assert "raise max_iter" in page.conclusions[2]
    stopped = reported(tmp_path, sample.views, 4, tol=1e-12, callback=lambda *_: True)
    assert stopped.short["trust"].startswith("The callback stopped the fusion after 1 round")
    assert "max_iter" not in " ".join([*stopped.conclusions, *stopped.short.values()])
    assert "# callback was a function, which cannot be written here." in stopped.text


def test_when_no_cluster_is_sure_none_is_called_the_least_sure(found, model, tmp_path):
    low = np.full(400, 0.3)
    unsure = replace(found, confidence=replace(found.confidence, margin=low))
    page = read(write_report(tmp_path / "report.html", model, inspection=unsure))
    assert "No cluster is sure: their median confidence is 0.30." in page.conclusions[1]
    assert "least sure." not in page.conclusions[1]
    low = np.where(model.labels_ == 2, 0.3, 1.0)
    unsure = replace(found, confidence=replace(found.confidence, margin=low))
    page = read(write_report(tmp_path / "one.html", model, inspection=unsure))
    assert "Cluster 2 (median 0.30) is least sure." in page.conclusions[1]


def test_very_few_samples(tmp_path):
    views = make_multiview(6, n_views=3, n_clusters=2, separation=9.0, random_state=0).views
    assert "too few samples to say whether the views agree" in conclusions(tmp_path, views, 2)


def test_many_clusters_and_views(tmp_path):
    made = make_multiview(600, n_views=12, n_clusters=60, separation=9.0, random_state=0)
    page = read(write_report(tmp_path / "report.html", fit(made.views, 60)))
    assert "The 40 least sure of 60 clusters are drawn." in page.text
    assert "Colours and shapes repeat" in page.text
    assert len(page.payload["confidence"]["clusters"]) == 40


@pytest.fixture(scope="module")
def large():
    """Return what a report of 100,000 samples is about, made up except for the parts that do not grow."""
    n, v, c = 100_000, 4, 10
    made = make_multiview(500, n_views=v, n_clusters=c, separation=9.0, random_state=0)
    model = fit(made.views, c)
    found = inspect(model, n_pairs=200)
    rng = np.random.default_rng(0)
    times = n // 500
    names = np.array([f"a sample with a long name, as ids of specimens are, number {i}" for i in range(n)])
    scores = rng.random((n, v))
    flagged = scores > [0.7, 1, 1, 1]
    found = replace(
        found,
        labels=np.tile(found.labels, times),
        sample_names=names,
        samples=replace(found.samples, sample_names=names, scores=scores, flagged=flagged),
        clusters=replace(found.clusters, sizes=found.clusters.sizes * times),
        confidence=replace(
            found.confidence,
            silhouette=rng.random(n),
            margin=rng.random(n),
            second=np.tile(found.confidence.second, times),
            neighbor_agreement=rng.random(n),
        ),
    )
    model = copy(model)
    model.labels_ = found.labels
    model.embedding_ = np.tile(model.embedding_, (times, 1))
    return ReportContent(model, found, None, None, "Large", (), None)


def test_a_page_of_many_samples_is_small_and_says_what_it_leaves_out(large):
    source = make_page(large, SECTIONS)
    assert len(source.encode()) < 3_000_000
    page = Page(source)
    assert "1,500 of 100,000 samples are drawn" in page.text
    assert "each column is the mean of a few of the 100,000 samples (240 columns)" in page.text
    assert f"1,000 of {int(large.found.samples.flagged.sum()):,} flagged rows, of each view" in page.text
    assert len(page.body("flagged")) == 1000


def test_each_view_has_its_share_of_the_rows_listed(large):
    flagged = large.found.samples.scores > [0.7, 0.7, 0.999, 1]
    found = replace(large.found, samples=replace(large.found.samples, flagged=flagged))
    page = Page(make_page(replace(large, found=found), SECTIONS))
    listed_views = [row[1] for row in page.body("flagged")]
    there = flagged.sum(axis=0)
    few = int(there[2])
    assert 50 < few < 200
    expected = [listed_views.count(f"view_{i}") for i in range(4)]
    assert sum(expected) == 1000
    assert abs(expected[0] - expected[1]) <= 1
    assert expected[2:] == [few, 0]
    scores = [float(row[2]) for row in page.body("flagged")]
    assert scores == sorted(scores, reverse=True)
    partly = {a["value"]: a["data-partly"] for tag, a in page.elements if "data-partly" in a}
    assert partly == {
        str(i): f"{expected[i]} of the {there[i]:,} flagged rows of this view are listed" for i in (0, 1)
    }
    assert f"Show {expected[0]} of its {there[0]:,} flagged rows" in page.text
    assert "Show its flagged rows" in page.text


def drawn_of(content):
    """Return the samples that the map draws."""
    flagged = content.found.samples.flagged.any(axis=1)
    return drawn_samples(content.labels, content.clusters.sizes, flagged, content.worst_scores)


def test_samples_are_drawn_evenly_and_no_more_than_half_of_them_for_their_flags(large):
    drawn = drawn_of(large)
    assert len(np.unique(drawn)) == MOST_DRAWN
    assert np.bincount(large.labels[drawn]).tolist() == [MOST_DRAWN // 10] * 10
    flagged = large.found.samples.flagged.any(axis=1)[drawn].mean()
    assert 0.5 <= flagged < 0.75  # half for their flags, 30 % of the rest at random


def test_small_clusters_are_drawn_whole(large):
    labels = large.labels.copy()
    labels[labels == 0] = 1
    labels[:7] = 0
    sizes = np.bincount(labels)
    found = replace(large.found, labels=labels, clusters=replace(large.found.clusters, sizes=sizes))
    drawn = drawn_of(replace(large, found=found))
    counts = np.bincount(labels[drawn])
    assert counts[0] == 7
    assert counts.sum() == MOST_DRAWN
    assert np.ptp(counts[1:]) <= 1


@pytest.mark.parametrize(("n", "c"), [(6, 2), (30, 1), (30, 3)])
def test_the_map_has_a_place_for_everybody(n, c):
    made = make_multiview(n, n_views=2, n_clusters=max(c, 2), separation=5.0, random_state=0)
    model = fit(made.views, c)
    drawn = ReportContent(model, inspect(model), None, None, "", (), None).map
    assert drawn.samples.tolist() == list(range(n))
    places = drawn.places
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    assert np.ptp(places, axis=0).min() > 0


def refused(error, match, path, fitted, **settings):
    folder = path.parent
    before = sorted(os.listdir(folder)) if folder.is_dir() else None
    with pytest.raises(error, match=match) as caught:
        write_report(path, fitted, **settings)
    assert "\n" not in str(caught.value)
    assert before == (sorted(os.listdir(folder)) if folder.is_dir() else None)


def test_a_file_that_exists_is_replaced_by_force_only(model, found, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    refused(FileExistsError, "pass force=True", path, model)
    assert path.read_text() == "mine"
    write_report(path, model, inspection=found, force=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert os.listdir(tmp_path) == ["report.html"]


def test_places_that_cannot_be_written_to(model, tmp_path, monkeypatch):
    refused(IsADirectoryError, "is a folder", tmp_path, model)
    refused(FileNotFoundError, "There is no folder .*absent", tmp_path / "absent" / "report.html", model)
    (tmp_path / "file").touch()
    refused(FileNotFoundError, "There is no folder .*file", tmp_path / "file" / "report.html", model)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused(PermissionError, "cannot be written into", tmp_path / "report.html", model)


def test_a_failure_while_writing_leaves_nothing_behind(model, found, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("mine")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    refused(OSError, "disk full", path, model, inspection=found, force=True)
    assert path.read_text() == "mine"


def test_what_does_not_fit_is_refused_before_the_work(model, sample, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    other = inspect(fit(make_multiview(60, n_clusters=3, separation=5.0, random_state=0).views))
    refused(ValueError, "not of this fit", path, model, inspection=other)
    monkeypatch.setattr("consilience.pages.report.writing.inspect", None)  # no work
    refused(ValueError, "fdr must be a number between 0 and 1, got 'x'", path, model, fdr="x")
    refused(ValueError, "fdr must be a number between 0 and 1, got 2", path, model, fdr=2)
    refused(TypeError, "title must be text, got 5", path, model, title=5)
    refused(ValueError, r"y has shape \(399,\)", path, model, y=sample.y[:-1])
    refused(ValueError, r"sample_names has shape \(2,\)", path, model, sample_names=["a", "b"])
    refused(NotFittedError, "not fitted", path, DistanceGraphFusion())
    refused(TypeError, "list", path, [])
    graphs = [np.ones((5, 5)) - np.eye(5)] * 2
    refused(TypeError, "FusionResult", path, fuse_graphs(graphs, kind="similarity"))


def test_the_library_does_not_load_the_report():
    code = (
        "import consilience, sys; "
        "loaded = [name for name in sys.modules if 'consilience.pages' in name]; assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_given_with_an_inspection_are_those_on_the_page(model, tmp_path):
    names = [f"case {i}" for i in range(len(model.labels_))]
    page = write_report(tmp_path / "named.html", model, inspection=inspect(model), sample_names=names)
    assert '"case 7"' in page.read_text(encoding="utf-8")
