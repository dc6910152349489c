"""Whether fusing helps: the verdict on data of which it is known, and what it rests on."""

from __future__ import annotations

import logging
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from consilience import DistanceGraphFusion, KMeansLabels, Views, make_multiview
from consilience.engines import get_engine
from consilience.inspection import does_fusion_help
from consilience.inspection.fusion_help.agreement import common_ari, pairwise_ari
from consilience.inspection.fusion_help.compared_views import place_views
from consilience.inspection.fusion_help.contenders import FUSION, VIEW, Contender
from consilience.inspection.fusion_help.resamples import draw_subsets
from consilience.inspection.fusion_help.shown import gain_over, graphs_of, mean_shown, shown_in
from consilience.inspection.fusion_help.verdict import Evidence, gather, judge
from consilience.metrics import ari, clustering_accuracy, nmi
from consilience.stages.effort import EFFORTS

pytestmark = pytest.mark.long

SEEDS = (0, 1, 2)

both_engines = pytest.mark.parametrize("engine", ["numba", "numpy"])


def made(seed: int = 0, n: int = 200, **options):
    return make_multiview(n, n_clusters=4, random_state=seed, **options)


@pytest.fixture(scope="module")
def helped():
    sample = made(n_views=3, separation=3.0)
    return sample, does_fusion_help(sample.views, 4, y=sample.y, n_resamples=4, random_state=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_if_one_view_is_perfect_and_the_rest_is_noise(seed):
    for noise_views in (1, 2, 3):
        sample = made(seed, n_views=1, noise_views=noise_views, separation=8.0)
        found = does_fusion_help(sample.views, 4, y=sample.y, n_resamples=3, random_state=seed)
        assert found.scores is not None
        assert found.scores["NMI"][0] > 0.95  # it is as good as perfect
        assert found.verdict == "no", found.sentence


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_views", [2, 3, 4])
def test_yes_if_views_complement_each_other(seed, n_views):
    sample = made(seed, n_views=n_views, separation=3.0)
    found = does_fusion_help(sample.views, 4, y=sample.y, n_resamples=5, random_state=seed)
    assert found.scores is not None
    assert found.scores["NMI"][-1] > found.scores["NMI"][:n_views].max() + 0.05
    assert found.verdict == "yes", found.sentence


@pytest.mark.parametrize("seed", SEEDS)
def test_yes_if_there_are_noise_views_next_to_two_good_ones(seed):
    sample = made(seed, n_views=2, noise_views=2, separation=3.5)
    found = does_fusion_help(sample.views, 4, n_resamples=5, random_state=seed)
    assert found.verdict == "yes", found.sentence
    assert (found.evidence.reliability[2:] == 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_not_yes_if_all_is_noise(seed):
    rng = np.random.default_rng(seed)
    for n_views in (2, 4):
        views = [rng.normal(size=(200, 8)) for _ in range(n_views)]
        assert does_fusion_help(views, 4, n_resamples=3, random_state=seed).verdict != "yes"


def test_not_yes_for_copies_or_for_views_that_need_no_help():
    x = made(separation=3.0, n_views=1).views["view_0"]
    found = does_fusion_help({"x": x, "again": 2 * x}, 4, n_resamples=3, random_state=0)
    assert found.verdict == "no"
    assert "copies apart" in found.sentence
    clear = made(separation=12.0, n_views=3)
    found = does_fusion_help(clear.views, 4, n_resamples=3, random_state=0)
    assert found.verdict == "no"
    assert "gives the clusters of DGF" in found.sentence


def test_labels_have_no_part_in_the_verdict(helped):
    sample, found = helped
    wrong = np.random.default_rng(0).permutation(sample.y)
    for y in (None, wrong):
        other = does_fusion_help(sample.views, 4, y=y, n_resamples=4, random_state=0)
        assert other.sentence == found.sentence
        assert np.array_equal(other.labels, found.labels)
        assert np.array_equal(other.resampled, found.resampled)
        assert np.array_equal(other.shown, found.shown)
    assert other.scores is not None
    assert not np.array_equal(other.scores["NMI"], found.scores["NMI"])


def test_what_is_returned(helped):
    sample, found = helped
    assert found.names == ("view_0", "view_1", "view_2", "concatenation", "average", "SGF", "DGF")
    assert found.kinds == ("view",) * 3 + ("concatenation", "average", "fusion", "fusion")
    m, n = len(found.names), len(sample.y)
    assert found.labels.shape == (m, n)
    assert found.resampled.shape == (m, 4)
    assert np.allclose(found.stability, found.resampled.mean(axis=1))
    assert found.shown_resampled.shape == (m, 4)
    assert np.isclose(found.evidence.gain, found.shown[-1] - found.shown[:3].max())
    assert np.allclose(found.agreement, [[ari(a, b) for a in found.labels] for b in found.labels])
    for name, score in {"NMI": nmi, "ACC": clustering_accuracy, "ARI": ari}.items():
        assert np.allclose(found.scores[name], [score(sample.y, one) for one in found.labels])
    assert found.skipped == {}
    evidence = found.evidence
    assert evidence.fused == "DGF"
    assert evidence.shown == found.shown[-1]
    assert evidence.view_shown == found.shown[found.names.index(evidence.view)] == found.shown[:3].max()
    assert evidence.gain > evidence.error > 0
    assert found.strength == ("strong" if evidence.gain > 2 * evidence.error else "weak")
    with pytest.raises(FrozenInstanceError):
        found.verdict = "no"


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_fused_labels_are_those_of_the_estimator(helped, effort):
    sample, found = helped
    if effort != "high":  # which is the default
        found = does_fusion_help(sample.views, 4, n_resamples=2, random_state=0, effort=effort)
    labels = KMeansLabels(n_init=10)
    model = DistanceGraphFusion(n_clusters=4, effort=effort, assign_labels=labels, random_state=0)
    model.fit(sample.views)
    assert ari(model.labels_, found.labels[-1]) > 0.99
    assert np.allclose(model.view_reliability_, found.evidence.reliability)


def test_effort_is_that_of_the_fusions_alone_and_of_no_resample(helped):
    sample, found = helped
    low = does_fusion_help(sample.views, 4, n_resamples=4, random_state=0, effort="low")
    assert np.array_equal(low.labels[:-2], found.labels[:-2])
    assert not np.array_equal(low.labels[-1], found.labels[-1])
    assert np.array_equal(low.resampled, found.resampled)
    assert low.evidence.error == found.evidence.error


def test_table_and_sentence_tell_the_numbers(helped):
    _, found = helped
    lines = found.summary().splitlines()
    assert lines[0] == found.sentence
    assert f"{found.evidence.gain:+.3f}" in found.sentence
    assert f"standard error {found.evidence.error:.3f}" in found.sentence
    row = next(line for line in lines if line.startswith("DGF"))
    shown = [found.shown[-1], found.stability[-1], 1.0, *(s[-1] for s in found.scores.values())]
    assert row.split()[1:] == [f"{value:.3f}" for value in shown]
    assert repr(found).startswith(f"<FusionHelp 'yes' ({found.strength} evidence)>")


def test_the_same_seed_gives_the_same_and_another_does_not(helped):
    sample, found = helped
    again = does_fusion_help(list(sample.views.values()), 4, n_resamples=4, random_state=0, n_jobs=1)
    assert np.array_equal(again.resampled, found.resampled)
    other = does_fusion_help(sample.views, 4, n_resamples=4, random_state=1)
    assert not np.array_equal(other.resampled, found.resampled)


def test_more_resamples_for_fewer_samples():
    rng = np.random.default_rng(0)
    small = does_fusion_help([rng.normal(size=(40, 3)), rng.normal(size=(40, 2))], 2, random_state=0)
    assert small.resampled.shape[1] == 10


def test_samples_that_a_view_has_not_seen():
    sample = made(n_views=3, separation=4.0, missing=0.15)
    views = Views({name: np.nan_to_num(x) for name, x in sample.views.items()}, mask=sample.mask)
    found = does_fusion_help(views, 4, y=sample.y, n_resamples=3, random_state=0)
    assert "concatenation" not in found.names
    assert "view_0" in found.skipped["concatenation"]
    assert np.array_equal(found.labels[:3] == -1, ~sample.mask.T)
    assert (found.labels[3:] >= 0).all()
    seen = sample.mask[:, 1]
    assert np.isclose(found.scores["ARI"][1], ari(sample.y[seen], found.labels[1][seen]))
    assert found.verdict == "yes", found.sentence
    assert "left out" in found.summary()


def test_a_view_that_has_seen_too_few_is_not_judged_alone():
    sample = made(n_views=3, separation=4.0)
    mask = np.ones((200, 3), dtype=bool)
    mask[4:, 2] = False
    found = does_fusion_help(Views(sample.views, mask=mask), 4, n_resamples=3, random_state=0)
    assert found.names[:2] == ("view_0", "view_1")
    assert "too few" in found.skipped["view_2"]


def test_a_constant_view_is_named():
    sample = made(n_views=2, separation=4.0)
    views = {**sample.views, "flat": np.ones((200, 2))}
    with pytest.warns(UserWarning, match="'flat' is constant"):
        found = does_fusion_help(views, 4, n_resamples=3, random_state=0)
    assert "flat" not in found.names
    assert "say" in found.skipped["flat"]


def test_matrices_between_samples():
    sample = made(n_views=2, separation=4.0)
    distances = {name: cdist(x, x) for name, x in sample.views.items()}
    asked = {"n_resamples": 3, "effort": "low", "random_state": 0}  # matrices have no other descriptions
    found = does_fusion_help(distances, 4, metric="precomputed_distance", **asked)
    plain = does_fusion_help(sample.views, 4, **asked)
    assert found.verdict == plain.verdict == "yes"
    assert "side by side" in found.skipped["concatenation"]
    assert ari(found.labels[-1], plain.labels[-1]) > 0.99


def test_similarities_are_fused_by_both_models():
    sample = made(n_views=2, separation=4.0)
    similar = {name: np.exp(-(cdist(x, x) ** 2) / 20) for name, x in sample.views.items()}
    found = does_fusion_help(similar, 4, metric="precomputed_similarity", n_resamples=3, random_state=0)
    assert found.names[-2:] == ("SGF", "DGF")
    assert set(found.skipped) == {"concatenation"}
    labels = (
        DistanceGraphFusion(n_clusters=4, metric="precomputed_similarity", random_state=0)
        .fit(similar)
        .labels_
    )
    assert ari(found.labels[-1], labels) > 0.99


def test_sparse_views():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 60)
    views = [sparse.csr_array(rng.poisson(0.05 + 0.6 * (np.arange(60) % 3 == y[:, None]))) for _ in range(2)]
    found = does_fusion_help(views, 3, y=y, n_resamples=3, random_state=0)
    assert found.scores is not None
    assert found.scores["NMI"][-1] > 0.9


def test_a_view_may_be_named_like_a_contender():
    sample = made(n_views=2, separation=4.0)
    views = dict(zip(("DGF", "average"), sample.views.values(), strict=True))
    found = does_fusion_help(views, 4, n_resamples=2, random_state=0)
    assert len(set(found.names)) == len(found.names) == 6


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"views": np.ones((20, 3))}, "There is 1 view"),
        ({"n_clusters": 1}, "n_clusters must be an integer from 2 to 47"),
        ({"n_clusters": 48}, "n_clusters must be an integer from 2 to 47"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer from 2 to 47"),
        ({"y": np.zeros(59)}, "one label for each of the 60 samples, got 59"),
        ({"y": np.zeros((60, 1))}, "one label for each of the 60 samples, got an array of shape"),
        ({"n_resamples": 1}, "n_resamples must be 'auto' or an integer of at least 2"),
        ({"n_resamples": "many"}, "n_resamples must be 'auto' or an integer of at least 2"),
        ({"n_neighbors": 60}, "n_neighbors=60"),
        ({"metric": "nearness"}, "Unknown metric 'nearness'"),
        ({"scale": "big"}, "Unknown scale 'big'"),
        ({"effort": "most"}, "Unknown effort 'most'"),
    ],
)
def test_one_clear_line_for_what_cannot_be(changed, message):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))]
    with pytest.raises(ValueError, match=message) as error:
        does_fusion_help(**{"views": views, "n_clusters": 3, **changed})
    assert "\n" not in str(error.value)


def test_views_that_say_nothing_are_no_views_to_compare():
    x = made(n_views=1).views["view_0"]
    with pytest.warns(UserWarning, match="constant"), pytest.raises(ValueError, match="no two views"):
        does_fusion_help([x, np.ones((200, 3))], 4)


def test_progress_is_logged_and_nothing_is_printed(caplog, capsys):
    sample = made(n_views=2, separation=4.0)
    with caplog.at_level(logging.INFO, logger="consilience"):
        found = does_fusion_help(sample.views, 4, n_resamples=2, random_state=0)
    assert "resample 2 of 2" in caplog.text
    assert found.sentence in caplog.text
    assert capsys.readouterr().out == ""


# The parts


CLEAR = Evidence(
    fused="DGF",
    view="a",
    shown=0.6,
    view_shown=0.5,
    gain=0.1,
    error=0.01,
    closest="b",
    sameness=0.7,
    views_agree=True,
    reliability=np.array([0.1, 0.2]),
)


@pytest.mark.parametrize(
    ("changed", "verdict", "strength"),
    [
        ({}, "yes", "strong"),
        ({"error": 0.06}, "yes", "weak"),
        ({"gain": -0.1}, "no", "strong"),
        ({"gain": -0.1, "error": 0.06}, "no", "weak"),
        ({"gain": 0.0}, "no", "weak"),
        ({"sameness": 0.995}, "no", "strong"),
        ({"views_agree": False}, "no", "weak"),  # though it shows better
        ({"views_agree": False, "gain": -0.1}, "no", "strong"),
        ({"views_agree": None}, "unclear", "weak"),
        ({"gain": np.nan}, "unclear", "weak"),
        ({"error": np.nan}, "yes", "weak"),
    ],
)
def test_the_rule(changed, verdict, strength):
    found = judge(replace(CLEAR, **changed))
    assert (found.word, found.strength) == (verdict, strength)
    assert found.sentence.endswith(".")
    assert {"yes": "helps", "no": "does not help", "unclear": "unclear"}[verdict] in found.sentence
    assert ("the evidence is thin" in found.sentence) == (strength == "weak" and verdict != "unclear")


def test_the_rival_is_the_view_that_shows_best_next_to_the_fusion():
    found = [Contender("a", VIEW, view=0), Contender("b", VIEW, view=1), Contender("DGF", FUSION)]
    gains = np.array([np.nan, 0.2])
    resampled = np.array([[0.0, 0.1], [0.0, 0.3], [0.0, 0.2]])
    evidence = gather(
        found, np.array([0.1, 0.2, 0.4]), gains, resampled, np.eye(3), np.array([0.1, 0.1]), np.ones(3, bool)
    )
    assert (evidence.view, evidence.gain, evidence.shown, evidence.view_shown) == ("b", 0.2, 0.4, 0.2)
    # Subsets of four fifths have most samples in common: their values vary by half of what chance does.
    assert np.isclose(evidence.error, 2 * 0.1)


@both_engines
def test_edge_weights_in_a_subset(engine):
    rng, engine = np.random.default_rng(0), get_engine(engine)
    views = Views([rng.normal(size=(60, 3)), rng.normal(size=(60, 2))])
    (rows,) = draw_subsets(60, 1, seed=0)
    settings = {"metrics": ("euclidean",) * 2, "metric": "auto", "scale": "none", "n_neighbors": 5}
    taken = place_views(views, **settings, engine=engine).take(rows)
    anew = place_views(views[rows], **settings, engine=engine)
    lists = engine.nearest(anew.prepared.points[0], 5).lists
    edges = engine.unite([lists], None)
    for one, other in zip(taken.prepared.points, anew.prepared.points, strict=True):
        assert np.allclose(
            engine.fetch(engine.measure(one, edges)), engine.fetch(engine.measure(other, edges))
        )
    assert np.array_equal(
        engine.fetch(engine.nearest(taken.prepared.points[0], 5).lists), engine.fetch(lists)
    )


def test_how_far_clusters_show_in_a_graph():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    blocks = rng.random((400, 400)) * (rng.random((400, 400)) < 0.05) * (y[:, None] == y)
    graph = sparse.csr_array(blocks + blocks.T)
    assert np.isclose(shown_in(graph, y), 1)
    assert abs(shown_in(graph, rng.permutation(y))) < 0.05
    assert shown_in(graph, np.zeros(400, dtype=int)) == 0
    # It is the modularity, as a share of the largest there can be.
    labels = np.where(rng.random(400) < 0.3, rng.integers(3, size=400), y)
    weight = graph.sum(axis=1)
    same = labels[:, None] == labels
    chance = np.outer(weight, weight) / weight.sum()
    modularity = ((graph.toarray() - chance) * same).sum() / weight.sum()
    largest = 1 - (chance * same).sum() / weight.sum()
    assert np.isclose(shown_in(graph, labels), modularity / largest)


def test_samples_without_a_label_do_not_count():
    rng = np.random.default_rng(0)
    x = (rng.random((60, 60)) < 0.2) * rng.random((60, 60))
    graph, labels = sparse.csr_array(x + x.T), rng.integers(3, size=60)
    some = np.where(np.arange(60) < 40, labels, -1)
    assert np.isclose(shown_in(graph, some), shown_in(sparse.csr_array(graph[:40, :40]), labels[:40]))
    assert np.isnan(shown_in(graph, np.full(60, -1)))
    # A difference is taken on the samples that both label.
    other = np.where(np.arange(60) >= 20, rng.integers(3, size=60), -1)
    both = [np.where((some >= 0) & (other >= 0), one, -1) for one in (some, other)]
    assert np.isclose(gain_over([[graph]], some, other), shown_in(graph, both[0]) - shown_in(graph, both[1]))


def test_one_missing_profile_changes_little(helped):
    sample, found = helped
    mask = np.ones((200, 3), dtype=bool)
    mask[0, 0] = False
    other = does_fusion_help(Views(sample.views, mask=mask), 4, n_resamples=4, random_state=0)
    assert (other.verdict, other.strength) == (found.verdict, found.strength)
    assert abs(other.evidence.gain - found.evidence.gain) < found.evidence.error


def test_agreement_of_labellings_with_holes():
    labels = np.array([[0, 0, 1, 1, -1, -1], [1, 1, 0, 0, 0, 1], [-1, -1, -1, -1, 0, 1]])
    matrix = pairwise_ari(labels)
    assert matrix[0, 1] == 1
    assert np.isnan(matrix[0, 2])
    assert common_ari(labels[1], labels[1]) == 1


def test_a_view_that_has_seen_some_samples_cannot_take_the_place_of_all():
    for seed in range(2):
        data = make_multiview(200, n_views=3, n_clusters=3, separation=6.0, missing=0.5, random_state=seed)
        views = Views([np.nan_to_num(x) for x in data.views.values()], mask=data.mask)
        found = does_fusion_help(views, 3, random_state=0)
        assert "alone gives the clusters" not in found.sentence


@pytest.mark.parametrize(
    ("metric", "fixed", "expected"),
    [
        ("auto", False, [(name, k) for name in ("default", "direction", "log", "rank") for k in (15, 6, 10)]),
        ("auto", True, [(name, 15) for name in ("default", "direction", "log", "rank")]),
        ("euclidean", False, [("default", 15), ("default", 6), ("default", 10)]),
        ("euclidean", True, [("default", 15)]),
    ],
)
def test_views_judge_by_every_description_that_a_fit_would_try(metric, fixed, expected):
    sample = made(n_views=2, separation=3.0, n=100)
    views, engine = Views(sample.views), get_engine("numba")
    placed = place_views(views, ["euclidean"] * 2, metric, "auto", 15, engine)
    described = placed.described(views, np.array([True, True]), metric, "auto", fixed=fixed)
    names = [getattr(one.prepared.spaces[0].scaling, "name", "default") for one in described]
    assert [(name, one.n_neighbors) for name, one in zip(names, described, strict=True)] == expected
    graphs = [graphs_of(one) for one in described]
    labels = np.random.default_rng(0).integers(4, size=100)
    each = [[shown_in(graph, labels) for graph in one] for one in graphs]
    assert np.isclose(mean_shown(graphs, labels), np.mean(each))


def test_only_kept_views_judge():
    sample = made(n_views=2, noise_views=1, separation=3.0)
    views, engine = Views(sample.views), get_engine("numba")
    placed = place_views(views, ["euclidean"] * 3, "auto", "auto", 10, engine)
    (without,) = placed.described(views, np.array([True, True, False]), "euclidean", "auto", fixed=True)
    (alone,) = placed.described(views, np.array([True, True, True]), "euclidean", "auto", fixed=True)
    first, second = graphs_of(without), graphs_of(alone)
    assert (len(first), len(second)) == (2, 3)
    assert all((a != b).nnz == 0 for a, b in zip(first, second[:2], strict=True))
