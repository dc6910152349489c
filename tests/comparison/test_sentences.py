"""The sentences under a comparison: each is said only if the figures support it."""

import itertools

import numpy as np

from consilience.comparison import Comparison
from consilience.comparison.agreement import similar_side_by_side
from consilience.comparison.data_sets import SetFacts
from consilience.comparison.fitting import Rules
from consilience.comparison.outcome import Outcome
from consilience.comparison.sentences import sentences
from consilience.inspection.fusion_help.agreement import pairwise_ari


def outcome(name, values=(), labels=(0, 0, 1, 1, 2, 2), resampled=()):
    return Outcome(
        name,
        "Class",
        status="ok",
        labels=np.array(labels),
        largest_share=np.bincount(labels).max() / len(labels),
        scores=[{"NMI": value} for value in values],
        resample_scores=[{"NMI": value} for value in resampled],
    )


def said(*outcomes, n_views=2):
    facts = SetFacts("data", n_samples=6, n_features=(3,) * n_views)
    found = {("data", "clean", False, one.name): one for one in outcomes}
    names = tuple(one.name for one in outcomes)
    return sentences(Comparison((facts,), names, ("clean",), (0,), (0,), Rules(), found), facts)


def test_the_best_is_named_if_the_others_are_further_away_than_the_seeds_spread():
    best, *_ = said(outcome("A", [0.80, 0.82]), outcome("B", [0.70, 0.70]), outcome("C", [0.6, 0.6]))
    assert best == (
        "A has the highest NMI, 0.810; next is B, 0.700. "
        "Ties are differences within the spread over the seeds of either."
    )


def test_what_is_within_the_spread_of_the_seeds_is_a_tie():
    best, *_ = said(outcome("A", [0.75, 0.75]), outcome("B", [0.60, 0.80]), outcome("C", [0.2, 0.2]))
    assert best.startswith("A has the highest NMI, 0.750; B (0.700) ties with it. ")
    many = [outcome(f"B{i}", [0.60, 0.80]) for i in range(5)]
    best, *_ = said(outcome("A", [0.75, 0.75]), *many, outcome("C", [0.2, 0.2]))
    assert "; 5 others, down to 0.700, tie with it. " in best


def test_what_is_within_the_median_spread_of_the_resamples_is_a_tie():
    systems = [
        outcome("A", [0.75], resampled=[0.7, 0.7]),
        outcome("B", [0.70], resampled=[0.6, 0.7]),
        outcome("C", [0.65], resampled=[0.2, 0.9]),
    ]
    best, *_ = said(*systems)
    assert best == (
        "A has the highest NMI, 0.750; B (0.700) ties with it. "
        "Ties are differences within 0.071, the median spread over the resamples."
    )


def test_all_may_tie():
    best, *_ = said(outcome("A", [0.7, 0.7]), outcome("B", [0.7, 0.8]))
    assert best.startswith("All systems tie in NMI, 0.700 to 0.750. ")


def test_one_fit_each_does_not_show_it():
    assert "does not show" in said(outcome("A", [0.8]), outcome("B", [0.7]))[0]


def test_whether_combining_views_helps_is_counted_against_the_one_that_takes_one():
    systems = [outcome("SC", [0.70, 0.71]), outcome("A", [0.9, 0.9]), outcome("B", [0.706, 0.706])]
    sentence = (
        "Of 2 that combine the views, 1 comes out above SC, which takes one alone (NMI 0.705), "
        "1 ties with it, 0 come out below."
    )
    assert sentence in said(*systems)
    assert sentence not in said(*systems, n_views=1)  # then there is nothing to combine
    assert not any("SC" in text for text in said(*systems[1:]))


def test_who_agrees_most_and_least():
    a, b, c = [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1]
    (text,) = said(outcome("A", labels=a), outcome("B", labels=b), outcome("C", labels=c))
    assert text.startswith("A and B agree most: ARI 0.") and "C agrees least with the others, -0." in text
    assert said(outcome("A"), outcome("B"), outcome("C")) == [
        "All pairs of systems agree equally: ARI 1.000."
    ]
    (text,) = said(outcome("A", labels=a), outcome("B", labels=a), outcome("C", labels=c))
    assert text.startswith("A and B agree most: ARI 1.000. C agrees least")
    (text,) = said(
        outcome("A", labels=a), outcome("B", labels=a), outcome("C", labels=c), outcome("D", labels=c)
    )
    assert text == "2 pairs of systems agree most: ARI 1.000."  # and no one is the odd one out


def test_nothing_is_said_of_one_or_none():
    assert said(outcome("A", [0.5])) == [] and said() == []


def test_nearly_all_in_one_cluster():
    (text,) = said(outcome("A", labels=[0] * 19 + [1]))
    assert text.startswith("Nearly all samples are in one cluster of A (95%)")
    assert said(outcome("A", labels=[0] * 8 + [1] * 2)) == []


def test_those_that_agree_stand_side_by_side():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    order = similar_side_by_side(pairwise_ari([one, other, one, other, one])).tolist()
    assert sorted(order) == list(range(5))
    kinds = [i % 2 for i in order]
    assert sum(a != b for a, b in itertools.pairwise(kinds)) == 1
