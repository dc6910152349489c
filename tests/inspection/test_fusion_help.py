"""Whether fusing helps: the verdict on data of which it is known, and what it rests on."""

from __future__ import annotations

import logging
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from consilience import DistanceGraphFusion, KMeansLabels, Views, make_multiview
from consilience.agreement import view_agreement
from consilience.engines import get_engine
from consilience.inspection import does_fusion_help
from consilience.inspection.fusion_help.agreement import common_ari, pairwise_ari
from consilience.inspection.fusion_help.compared_views import place_views
from consilience.inspection.fusion_help.held_out import HeldOut, shown_in
from consilience.inspection.fusion_help.null_views import without_structure
from consilience.inspection.fusion_help.resamples import draw_subsets
from consilience.inspection.fusion_help.verdict import Evidence, judge
from consilience.metrics import ari, clustering_accuracy, nmi
from consilience.stages import nearest_neighbors

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
        assert np.array_equal(other.null_stability, found.null_stability)
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
    assert np.allclose(found.agreement, [[ari(a, b) for a in found.labels] for b in found.labels])
    for name, score in {"NMI": nmi, "ACC": clustering_accuracy, "ARI": ari}.items():
        assert np.allclose(found.scores[name], [score(sample.y, one) for one in found.labels])
    assert (found.null_stability < found.stability).all()
    assert found.skipped == {}
    evidence = found.evidence
    assert evidence.fused == "DGF"
    assert (
        evidence.view_stability
        == found.stability[:3].max()
        == found.stability[found.names.index(evidence.view)]
    )
    assert np.isclose(evidence.gain, found.stability[-1] - evidence.view_stability)
    assert evidence.held_out is not None
    assert evidence.held_out.gain > 2 * evidence.held_out.error > 0
    with pytest.raises(FrozenInstanceError):
        found.verdict = "no"


def test_the_fused_labels_are_those_of_the_estimator(helped):
    sample, found = helped
    model = DistanceGraphFusion(n_clusters=4, assign_labels=KMeansLabels(n_init=10), random_state=0).fit(
        sample.views
    )
    assert ari(model.labels_, found.labels[-1]) > 0.99
    assert np.allclose(model.view_reliability_, found.evidence.reliability)


def test_table_and_sentence_tell_the_numbers(helped):
    _, found = helped
    lines = found.summary().splitlines()
    assert lines[0] == found.sentence
    assert f"{found.evidence.stability:.2f}" in found.sentence
    assert f"{found.evidence.view_stability:.2f}" in found.sentence
    row = next(line for line in lines if line.startswith("DGF"))
    shown = [found.stability[-1], found.null_stability[-1], 1.0, *(s[-1] for s in found.scores.values())]
    assert row.split()[1:] == [f"{value:.3f}" for value in shown]
    assert repr(found).startswith("<FusionHelp 'yes'>")


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
    found = does_fusion_help(distances, 4, metric="precomputed_distance", n_resamples=3, random_state=0)
    plain = does_fusion_help(sample.views, 4, n_resamples=3, random_state=0)
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
    assert found.null_stability[-1] < found.stability[-1]


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
    stability=0.9,
    null_stability=0.3,
    view_stability=0.8,
    gain=0.1,
    error=0.01,
    closest="b",
    sameness=0.7,
    views_agree=True,
    reliability=np.array([0.1, 0.2]),
    held_out=None,
)
CONFIRMED, NOT_CONFIRMED = HeldOut("a", 0.05, 0.01), HeldOut("a", 0.01, 0.01)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "yes"),
        ({"gain": -0.01}, "yes"),  # neither large nor sure
        ({"gain": -0.04}, "unclear"),  # sure, but not large
        ({"gain": -0.2, "error": 0.15}, "unclear"),  # large, but not sure
        ({"gain": -0.2}, "no"),
        ({"gain": -0.2, "held_out": CONFIRMED}, "yes"),
        ({"gain": -0.2, "held_out": NOT_CONFIRMED}, "no"),
        ({"held_out": NOT_CONFIRMED}, "yes"),
        ({"views_agree": False, "gain": 0.0, "held_out": CONFIRMED}, "no"),
        ({"sameness": 0.995, "held_out": CONFIRMED}, "no"),
        ({"sameness": 0.995}, "no"),
        ({"views_agree": False}, "unclear"),  # and yet more stable
        ({"views_agree": False, "gain": 0.01}, "no"),
        ({"views_agree": False, "error": 0.1}, "no"),
        ({"views_agree": None}, "unclear"),
        ({"views_agree": None, "gain": -0.2}, "no"),
        ({"null_stability": 0.88}, "unclear"),
    ],
)
def test_the_rule(changed, verdict):
    found, sentence = judge(replace(CLEAR, **changed))
    assert found == verdict
    assert sentence.endswith(".")
    assert {"yes": "Fusing helps", "no": "does not help", "unclear": "unclear"}[verdict] in sentence


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


def test_nothing_goes_with_anything_once_structure_is_gone():
    sample = made(n=300, n_views=2, separation=6.0)
    views = Views({**sample.views, "sparse": sparse.csr_array(np.maximum(sample.views["view_0"], 0))})
    bare = without_structure(views, seed=0)
    for (_, before), (_, after) in zip(views.items(), bare.items(), strict=True):
        before, after = (x.toarray() if sparse.issparse(x) else x for x in (before, after))
        assert np.array_equal(np.sort(before, axis=0), np.sort(after, axis=0))
        off = np.abs(np.corrcoef(after.T) - np.eye(before.shape[1])).max()
        assert off < 0.25 < np.abs(np.corrcoef(before.T) - np.eye(before.shape[1])).max()
    lists = nearest_neighbors(bare, 10, metric="euclidean")
    assert len(lists) == 3
    assert not view_agreement(lists).significant.any()


def test_pairs_change_places_and_stay_symmetric():
    x = made(n=60, n_views=1).views["view_0"]
    distances = cdist(x, x)
    nearest = sparse.csr_array(np.where(distances < np.quantile(distances, 0.2), 1 / (1 + distances), 0))
    bare = without_structure(Views([distances, nearest], pairwise=True), seed=0)
    dense, thin = bare.arrays[0], bare.arrays[1].toarray()
    for before, after in ((distances, dense), (nearest.toarray(), thin)):
        assert np.array_equal(after, after.T)
        assert np.allclose(np.sort(before.ravel()), np.sort(after.ravel()))
        assert not np.allclose(before, after)


def test_unseen_rows_stay_unseen_without_structure():
    rng = np.random.default_rng(0)
    mask = np.ones((30, 2), dtype=bool)
    mask[:10, 0] = False
    views = Views([rng.normal(size=(30, 2)) + 5, rng.normal(size=(30, 2))], mask=mask)
    bare = without_structure(views, seed=0)
    assert np.array_equal(bare.mask, mask)
    assert (bare.arrays[0][:10] == 0).all()
    assert (bare.arrays[0][10:] != 0).all()


def test_how_far_clusters_show_in_a_graph():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    blocks = rng.random((400, 400)) * (rng.random((400, 400)) < 0.05) * (y[:, None] == y)
    graph = sparse.csr_array(blocks + blocks.T)
    assert np.isclose(shown_in(graph, y).mean(), 1)
    assert abs(shown_in(graph, rng.permutation(y)).mean()) < 0.05
    assert (shown_in(graph, np.zeros(400, dtype=int)) == 0).all()
    # It is the modularity, as a share of the largest there can be.
    labels = np.where(rng.random(400) < 0.3, rng.integers(3, size=400), y)
    weight = graph.sum(axis=1)
    same = labels[:, None] == labels
    chance = np.outer(weight, weight) / weight.sum()
    modularity = ((graph.toarray() - chance) * same).sum() / weight.sum()
    largest = 1 - (chance * same).sum() / weight.sum()
    assert np.isclose(shown_in(graph, labels).mean(), modularity / largest)


def test_views_are_held_out_only_if_three_are_kept_and_all_is_seen():
    two = made(n_views=2, noise_views=2, separation=4.0)
    assert does_fusion_help(two.views, 4, n_resamples=2, random_state=0).evidence.held_out is None
    sample = made(n_views=3, separation=4.0, missing=0.1)
    views = Views({name: np.nan_to_num(x) for name, x in sample.views.items()}, mask=sample.mask)
    assert does_fusion_help(views, 4, n_resamples=2, random_state=0).evidence.held_out is None


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
