"""Statistics over many sets: against SciPy, published figures, formulas by hand, and their symmetries."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from consilience.comparison.statistics.differences import mean_difference, win_tie_loss
from consilience.comparison.statistics.paired_tests import (
    MOST_EXACT,
    holm,
    pairwise_tests,
    reference_tests,
    signed_rank_test,
)
from consilience.comparison.statistics.rank_tests import (
    critical_difference,
    friedman,
    mean_ranks,
    rank_groups,
)
from consilience.comparison.statistics.score_table import ScoreTable, complete_block, mean_scores
from consilience.comparison.statistics.spreads import difference_spread, system_spreads

NAN = float("nan")

# AUC of C4.5 and three variants on 14 data sets: table 6 of Demšar (2006). On "voting", the paper prints
# 0.975 for the last two but ranks them 2 and 3, from unrounded values; 0.9751 puts them in that order.
DEMSAR = """
adult                   0.763 0.768 0.771  0.798
breast-cancer           0.599 0.591 0.590  0.569
breast-cancer-wisconsin 0.954 0.971 0.968  0.967
cmc                     0.628 0.661 0.654  0.657
ionosphere              0.882 0.888 0.886  0.898
iris                    0.936 0.931 0.916  0.931
liver-disorders         0.661 0.668 0.609  0.685
lung-cancer             0.583 0.583 0.563  0.625
lymphography            0.775 0.838 0.866  0.875
mushroom                1.000 1.000 1.000  1.000
primary-tumor           0.940 0.962 0.965  0.962
rheum                   0.619 0.666 0.614  0.669
voting                  0.972 0.981 0.9751 0.975
wine                    0.957 0.978 0.946  0.970
"""


def table_of(scores, systems=None, families=None):
    scores = np.asarray(scores, dtype=float)
    scores = scores[:, :, np.newaxis] if scores.ndim == 2 else scores
    sets = tuple(f"set {i}" for i in range(scores.shape[0]))
    systems = systems or tuple(f"system {i:02}" for i in range(scores.shape[1]))
    return ScoreTable(systems, sets, families or sets, scores)


@pytest.fixture(scope="module")
def demsar():
    rows = [line.split() for line in DEMSAR.strip().splitlines()]
    scores = 100 * np.array([row[1:] for row in rows], dtype=float)
    sets = tuple(row[0] for row in rows)
    return ScoreTable(("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"), sets, sets, scores[:, :, np.newaxis])


# --- published figures


def test_ranks_and_friedman_are_those_of_demsar(demsar):
    np.testing.assert_allclose(mean_ranks(demsar), [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    found = friedman(demsar, correct_ties=False)
    assert round(found.chi_square, 2) == 9.28 and round(found.f, 2) == 3.69
    assert found.f_p == pytest.approx(stats.f.sf(found.f, 3, 39)) and found.f_p < 0.05


@pytest.mark.parametrize(
    "k, alpha, q",  # table 5(a) of the paper
    [
        (2, 0.05, 1.960),
        (3, 0.05, 2.343),
        (4, 0.05, 2.569),
        (10, 0.05, 3.164),
        (2, 0.1, 1.645),
        (9, 0.1, 2.855),
    ],
)
def test_critical_differences_are_those_of_demsar(k, alpha, q):
    assert critical_difference(k, 14, alpha) == pytest.approx(q * (k * (k + 1) / 84) ** 0.5, abs=1e-3)


def test_groups_by_nemenyi_are_those_of_demsar(demsar):
    at_5, at_10 = (rank_groups(demsar, "nemenyi", alpha) for alpha in (0.05, 0.10))
    assert round(at_5.critical_difference, 2) == 1.25 and round(at_10.critical_difference, 2) == 1.12
    assert at_5.cliques == (at_5.systems,) == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
    assert at_10.cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


def test_sums_of_signed_ranks_are_those_of_demsar(demsar):
    found = signed_rank_test(demsar.differences("C4.5+m", "C4.5"))  # section 3.1.3
    assert (found.positive, found.negative, found.n, found.n_zero) == (93, 12, 14, 2)
    assert found.p_value < 0.05


def test_holm_by_hand():
    # Sorted: 0.005 x 5, 0.010 x 4, 0.015 x 3, 0.030 x 2, 0.9 x 1; 0.045 after 0.040, and 0.06.
    np.testing.assert_allclose(holm([0.9, 0.010, 0.005, 0.030, 0.015]), [0.9, 0.04, 0.025, 0.06, 0.045])
    # 0.02 x 3 = 0.06 > 0.025 x 2 = 0.05: the second may not fall below the first.
    np.testing.assert_allclose(holm([0.02, 0.025, 0.5]), [0.06, 0.06, 0.5])
    assert holm([]).shape == (0,) and holm([0.6, 0.7]).tolist() == [1.0, 1.0]


@given(arrays(float, st.integers(1, 12), elements=st.floats(0, 1)))
def test_holm_is_between_the_p_value_and_bonferroni_and_keeps_the_order(p):
    adjusted = holm(p)
    assert np.all(adjusted >= p) and np.all(adjusted <= np.minimum(1, len(p) * p) + 1e-15)
    assert np.all(np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0)


# --- against SciPy and by enumeration

few_points = st.integers(0, 6).map(float)  # coarse, so that there are ties


@given(arrays(float, st.tuples(st.integers(2, 8), st.integers(3, 6)), elements=few_points))
def test_friedman_is_that_of_scipy(scores):
    found = friedman(table_of(scores))
    if np.ptp(scores, axis=1).max() == 0:  # SciPy divides 0 by 0
        assert (found.chi_square, found.chi_square_p, found.f, found.f_p) == (0, 1, 0, 1)
        return
    expected = stats.friedmanchisquare(*scores.T)
    assert found.chi_square == pytest.approx(expected.statistic, abs=1e-9)
    assert found.chi_square_p == pytest.approx(expected.pvalue, rel=1e-6)


def test_friedman_of_two_systems_and_of_full_agreement():
    found = friedman(table_of([[2, 1], [5, 3], [4, 1], [2, 3]]))
    assert found.chi_square == pytest.approx(1.0)  # 3 of 4 wins: (3 - 1)^2 / 4
    always = friedman(table_of([[3, 2, 1]] * 5))
    assert always.chi_square == pytest.approx(10) and (always.f, always.f_p) == (np.inf, 0)


@given(arrays(float, st.integers(2, 9), elements=st.integers(-4, 4).map(float)))
def test_signed_ranks_by_enumeration(differences):
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    signs = np.array(list(product((-1, 1), repeat=len(ranks))))
    apart = np.abs(signs @ ranks)
    expected = np.mean(apart >= abs((np.sign(differences[differences != 0]) * ranks).sum()) - 1e-9)
    found = signed_rank_test(differences)
    assert found.p_value == pytest.approx(expected, rel=1e-9) and found.exact
    total = len(differences) * (len(differences) + 1) / 2
    assert found.positive + found.negative == pytest.approx(total)


def test_signed_ranks_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for n in (6, 12, 30, 50):
        differences = rng.normal(0.3, 1, n)
        expected = stats.wilcoxon(differences, method="exact")
        found = signed_rank_test(differences)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
        assert min(found.positive, found.negative) == expected.statistic


def test_many_signed_ranks_are_approximated_as_by_scipy_and_close_to_exact():
    rng = np.random.default_rng(0)
    differences = np.round(rng.normal(0.2, 1, MOST_EXACT + 50), 1)
    expected = stats.wilcoxon(differences, zero_method="pratt", method="approx")
    found = signed_rank_test(differences)
    assert not found.exact and found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    fewer = differences[:MOST_EXACT]
    approximate = stats.wilcoxon(fewer, zero_method="pratt", method="approx").pvalue
    # The next term of the expansion, from the kurtosis -3.6 / n, is at most 0.0017 for 100 differences.
    assert signed_rank_test(fewer).p_value == pytest.approx(approximate, abs=0.002)
    assert signed_rank_test(np.zeros(MOST_EXACT + 1)).p_value == 1


def test_differences_that_only_rounding_tells_apart_are_ties():
    # 0.3 - 0.2 and 0.2 - 0.1 differ in the last bit.
    assert signed_rank_test([0.3 - 0.2, 0.1 - 0.2]).positive == 1.5
    assert mean_ranks(table_of([[0.1 + 0.2, 0.3]])).tolist() == [1.5, 1.5]


def test_corrections_count_the_tests_made_together():
    rng = np.random.default_rng(0)
    table = table_of(rng.normal([4.0, 3, 2, 1], 2, (20, 4)))
    every, against = pairwise_tests(table), reference_tests(table, "system 03")
    raw = [one.test.p_value for one in every]
    assert [one.adjusted_p for one in every] == holm(raw).tolist() and len(every) == 6
    assert [one.first for one in against] == ["system 00", "system 01", "system 02"]
    assert [one.adjusted_p for one in against] == holm([one.test.p_value for one in against]).tolist()
    expected = (table.means[:, 0] - table.means[:, 3]).mean()
    assert against[0].mean_difference == pytest.approx(expected)
    assert against[0].adjusted_p < next(one.adjusted_p for one in every if one.second == "system 03")


def test_a_pair_is_tested_on_the_sets_that_both_ran_on():
    scores = np.array([[9, 7, 1], [8, 6, NAN], [9, 8, NAN], [7, NAN, NAN], [9, 5, NAN]])
    tests = {(one.first[-1], one.second[-1]): one for one in pairwise_tests(table_of(scores))}
    assert tests["0", "1"].test.n == 4 and tests["0", "1"].adjusted_p == 0.125
    assert tests["0", "2"].test.p_value is tests["0", "2"].adjusted_p is None
    assert "two sets" in tests["0", "2"].test.reason


def test_a_bar_never_covers_two_that_differ():
    # A beats B by a point on every set; C beats both by much on half of the sets and loses on the others.
    base, uneven = np.linspace(50, 70, 24), np.linspace(3, 5, 24)
    c = base + np.where(np.arange(24) % 2, uneven, -uneven)
    table = table_of(np.stack([base + 1, base, c], axis=1), systems=("A", "B", "C"))
    p = {one.first + one.second: one.adjusted_p for one in pairwise_tests(table)}
    assert p["AB"] < 0.001 and p["AC"] > 0.05 and p["BC"] > 0.05
    found = rank_groups(table)
    assert found.systems == ("A", "C", "B")
    assert found.cliques == (("A", "C"), ("C", "B")) and found.unjoined == ()


def test_pairs_that_neither_differ_nor_share_a_bar_are_named():
    # B beats C everywhere. A wins narrowly on 11 of 16 sets and loses by much on 5: it differs from neither.
    b, c = 50.5 + np.arange(16) / 100, np.full(16, 50.0)
    a = np.where(np.arange(16) < 11, 55, 20) + np.arange(16) / 7
    found = rank_groups(table_of(np.stack([a, b, c], axis=1), systems=("A", "B", "C")))
    assert found.systems == ("A", "B", "C")
    assert found.cliques == (("A", "B"),) and found.unjoined == (("A", "C"),)


# --- complete blocks and means


def test_the_block_is_complete_and_says_what_it_left_out():
    scores = np.array([[1, 2, NAN, NAN], [3, 4, 5, NAN], [NAN, 6, 7, NAN], [8, 9, 10, NAN], [NAN] * 4])
    block = complete_block(table_of(scores, systems=("A", "B", "C", "D")), least_share=0.75)
    assert block.table.systems == ("A", "B", "C") and block.table.sets == ("set 1", "set 3")
    assert block.table.means.tolist() == [[3, 4, 5], [8, 9, 10]] and block.table.gaps == 0
    assert {one.name: one.reason for one in block.systems_left_out} == {"D": "has no result"}
    assert {one.name: one.reason for one in block.sets_left_out} == {
        "set 0": "no result of C",
        "set 2": "no result of A",
        "set 4": "no result of any system",
    }
    stricter = complete_block(table_of(scores, systems=("A", "B", "C", "D")), least_share=1.0)
    assert stricter.table.systems == ("B",) and len(stricter.table.sets) == 4
    assert "3 of 4 sets" in stricter.systems_left_out[0].reason
    # Whatever the share, a system without results would leave no set.
    assert complete_block(table_of(scores), least_share=0.0).table.systems == (
        "system 00",
        "system 01",
        "system 02",
    )


@given(arrays(float, st.tuples(st.integers(0, 6), st.integers(0, 5)), elements=st.sampled_from([NAN, 50.0])))
def test_any_table_has_a_complete_block(scores):
    table = table_of(scores)
    block = complete_block(table, 0.5)
    assert block.table.gaps == 0
    assert len(block.table.systems) + len(block.systems_left_out) == len(table.systems)
    assert len(block.table.sets) + len(block.sets_left_out) == len(table.sets)
    assert all(one.own.n_sets == np.isfinite(table.column(one.system)).sum() for one in mean_scores(table))


def test_means_on_own_and_on_common_sets():
    scores = [[60, 50, NAN], [70, 60, NAN], [92, NAN, 99], [80, 70, NAN]]
    table = table_of(scores, systems=("A", "B", "C"), families=("f", "f", "g", "h"))
    a, b, c = mean_scores(table, least_share=0.75)
    assert (a.own.over_sets, a.own.over_families) == (75.5, pytest.approx((65 + 92 + 80) / 3))
    assert (a.common.over_sets, a.common.over_families, a.common.n_sets, a.common.n_families) == (
        70,
        72.5,
        3,
        2,
    )
    assert (b.own.over_sets, b.common.over_sets) == (60, 60) and b.own.n_families == 2
    assert c.own.over_sets == 99 and c.common is None and c.reason == "ran on 1 of 4 sets, less than 75 %"


def test_means_over_seeds_leave_out_those_that_failed():
    table = table_of([[[70, NAN, 74]], [[NAN, NAN, NAN]]])
    np.testing.assert_array_equal(table.means, [[72], [NAN]])
    assert not table.by_seed.flags.writeable


# --- wins, intervals, spreads


def test_a_difference_of_the_margin_is_a_tie():
    scores = [[60.5, 60], [60.6, 60], [59.5, 60], [59.4, 60], [60, NAN]]
    won = win_tie_loss(table_of(scores), "system 01")[0]
    assert (won.wins, won.ties, won.losses, won.n_sets) == (1, 2, 1, 4)
    exact = win_tie_loss(table_of(scores), "system 01", margin=0)[0]
    assert (exact.wins, exact.ties, exact.losses) == (2, 0, 2)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_hold_the_true_mean_about_as_often_as_they_say(method):
    rng = np.random.default_rng(0)
    covered = 0
    for i in range(300):
        scores = np.stack([rng.normal(61, 3, 30), np.full(30, 60.0)], axis=1)
        found = mean_difference(
            table_of(scores), "system 00", "system 01", method=method, n_draws=500, random_state=i
        )
        covered += found.low <= 1 <= found.high
    # Bootstrap intervals of 30 values cover some 94 %; three standard errors of 300 trials are 4 %.
    assert 0.90 <= covered / 300 <= 0.98


def test_bca_leans_towards_the_long_tail_as_in_scipy():
    rng = np.random.default_rng(0)
    values = rng.exponential(3, 25)
    table = table_of(np.stack([values, np.zeros(25)], axis=1))
    bca = mean_difference(table, "system 00", "system 01")
    percentile = mean_difference(table, "system 00", "system 01", method="percentile")
    assert bca.low > percentile.low and bca.high > percentile.high
    expected = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, random_state=1)
    width = bca.high - bca.low
    assert bca.low == pytest.approx(expected.confidence_interval.low, abs=0.03 * width)
    assert bca.high == pytest.approx(expected.confidence_interval.high, abs=0.03 * width)


def test_relatives_count_once():
    alone = table_of([[61, 60], [63, 60], [59, 60], [66, 60]])
    relatives = table_of(
        [[61, 60], [63, 60], [59, 60], [66, 60], [67, 60], [65, 60]], families=("a", "b", "c", "d", "d", "d")
    )
    one, two = (mean_difference(table, "system 00", "system 01") for table in (alone, relatives))
    assert (one.difference, one.low, one.high) == (two.difference, two.low, two.high)
    assert (two.n_sets, two.n_families) == (6, 4)


def test_intervals_mirror_and_repeat():
    table = table_of(np.random.default_rng(0).normal(60, 3, (12, 2)))
    forth, back = (mean_difference(table, f"system 0{i}", f"system 0{1 - i}") for i in (0, 1))
    assert forth.difference == pytest.approx(-back.difference)
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), rel=1e-9)
    assert forth == mean_difference(table, "system 00", "system 01")
    assert forth != mean_difference(table, "system 00", "system 01", random_state=1)
    narrow = mean_difference(table, "system 00", "system 01", confidence=0.5)
    assert forth.low < narrow.low < narrow.high < forth.high


def test_spreads_over_seeds_and_sets_by_hand():
    rng = np.random.default_rng(0)
    scores = rng.normal(60, 1, (7, 2, 5)) + rng.normal(0, 10, (7, 1, 1))
    scores[0, 0, 3:] = NAN
    first = system_spreads(table_of(scores))[0]
    within = sum(4 * np.var(one[0], ddof=1) for one in scores[1:]) + 2 * np.var(scores[0, 0, :3], ddof=1)
    assert first.over_seeds == pytest.approx((within / (6 * 4 + 2)) ** 0.5)
    assert first.over_sets == pytest.approx(np.nanmean(scores, axis=2)[:, 0].std(ddof=1))


@pytest.mark.parametrize("shared", [False, True])
def test_the_share_of_seeds_is_what_was_put_in(shared):
    # Differences vary by 2 over sets and by 3 over seeds: of 9 seeds, a variance of 1 out of 4 + 1.
    rng = np.random.default_rng(0)
    n_sets, n_seeds = 4000, 9
    noise = rng.normal(0, 3 / 2**0.5, (n_sets, 2, n_seeds))
    if shared:  # a corruption that all runs with a seed share does not count: it cancels in the difference
        noise += rng.normal(0, 20, (n_sets, 1, n_seeds))
    truth = np.stack([rng.normal(0, 2, n_sets), np.zeros(n_sets)], axis=1)
    found = difference_spread(table_of(50 + truth[:, :, np.newaxis] + noise), "system 00", "system 01")
    assert found.over_sets == pytest.approx(5**0.5, rel=0.05)
    assert found.from_seeds == pytest.approx(1, rel=0.05) and found.seed_share == pytest.approx(0.2, rel=0.1)


# --- too little data, and wrong data


def test_one_system_or_one_set_gives_reasons_in_place_of_figures():
    for scores in ([[60.0], [70.0]], [[60.0, 70.0]]):
        table = table_of(scores)
        for found in (friedman(table), rank_groups(table), rank_groups(table, "nemenyi")):
            assert "two systems and two sets" in found.reason
        assert friedman(table).f is None and rank_groups(table).cliques == ()
    assert pairwise_tests(table_of([[60.0], [70.0]])) == ()
    only = pairwise_tests(table_of([[60.0, 70.0]]))[0]
    assert only.adjusted_p is None and only.mean_difference == -10
    found = mean_difference(table_of([[60.0, 70.0]]), "system 00", "system 01")
    assert found.difference == -10 and found.low is found.high is None and "two families" in found.reason
    spread = difference_spread(table_of([[60.0, 70.0]]), "system 00", "system 01")
    assert (
        spread.over_sets is spread.from_seeds is None and "seeds" in spread.reason and "sets" in spread.reason
    )


def test_identical_systems_do_not_differ():
    table = table_of(np.repeat(np.arange(8.0)[:, np.newaxis], 3, axis=1))
    assert mean_ranks(table).tolist() == [2, 2, 2] and friedman(table).f_p == 1
    assert all(one.adjusted_p == 1 and one.test.n_zero == 8 for one in pairwise_tests(table))
    assert rank_groups(table).cliques == (table.systems,) == rank_groups(table, "nemenyi").cliques
    found = mean_difference(table, "system 00", "system 01")
    assert (found.difference, found.low, found.high) == (0, 0, 0)
    spread = difference_spread(table, "system 00", "system 01")
    assert spread.over_sets == 0 and spread.seed_share is None
    repeated = table_of(np.ones((4, 2, 3)))
    assert "same on all sets" in difference_spread(repeated, "system 00", "system 01").reason


def test_a_system_without_results_is_left_out_and_never_ranked():
    table = table_of(np.column_stack([np.arange(6.0), np.full(6, NAN)]))
    for function in (mean_ranks, friedman, rank_groups):
        with pytest.raises(ValueError, match=r"6 of 12 scores missing.*complete_block"):
            function(table)
    assert complete_block(table).table.systems == ("system 00",)
    assert win_tie_loss(table, "system 00")[0].n_sets == 0
    assert mean_difference(table, "system 00", "system 01").difference is None
    assert system_spreads(table)[1].over_sets is None
    assert mean_scores(table)[1].own.over_sets is None


def test_one_seed_has_no_spread_over_seeds():
    spread = system_spreads(table_of(np.arange(6.0).reshape(3, 2)))[0]
    assert (
        spread.over_seeds is None
        and spread.over_sets == 2
        and spread.reason == "no set has results for two seeds"
    )


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"systems": ("A", "A")}, "same system 'A'"),
        ({"sets": ("x", "x")}, "same set 'x'"),
        ({"families": ("x",)}, "as many families"),
        ({"by_seed": np.ones((2, 2))}, r"\(2, 2, number of seeds\), not \(2, 2\)"),
        ({"by_seed": np.full((2, 2, 1), np.inf)}, "infinite"),
    ],
)
def test_wrong_tables_are_refused(changed, message):
    right = {"systems": ("A", "B"), "sets": ("x", "y"), "families": ("x", "y"), "by_seed": np.ones((2, 2, 1))}
    with pytest.raises(ValueError, match=message):
        ScoreTable(**(right | changed))


def test_wrong_parameters_are_refused():
    table = table_of(np.ones((3, 2)))
    with pytest.raises(ValueError, match="No system is named 'X'; there are system 00 and system 01"):
        reference_tests(table, "X")
    for call, message in (
        (lambda: complete_block(table, 1.2), "least_share"),
        (lambda: win_tie_loss(table, "system 00", margin=-1), "margin"),
        (lambda: mean_difference(table, "system 00", "system 01", method="t"), "percentile"),
        (lambda: mean_difference(table, "system 00", "system 01", confidence=95), "confidence"),
        (lambda: rank_groups(table, "tukey"), "nemenyi"),
        (lambda: critical_difference(1, 10), "Two systems"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# --- the order of systems and of sets does not matter


@given(st.data())
def test_the_order_of_systems_and_sets_does_not_matter(data):
    shape = data.draw(st.tuples(st.integers(2, 7), st.integers(2, 5), st.integers(1, 3)))
    scores = data.draw(arrays(float, shape, elements=st.integers(0, 400).map(lambda i: i / 4)))
    families = tuple(data.draw(st.lists(st.sampled_from("abcdefg"), min_size=shape[0], max_size=shape[0])))
    table = table_of(scores, families=families)
    sets, systems = (data.draw(st.permutations(range(n))) for n in shape[:2])
    other = table.part(sets, systems)
    np.testing.assert_allclose(mean_ranks(other), mean_ranks(table)[systems])
    for correct in (True, False):
        one, two = friedman(table, correct_ties=correct), friedman(other, correct_ties=correct)
        assert one.chi_square == pytest.approx(two.chi_square) and one.f_p == pytest.approx(two.f_p)
    assert {one.system: one for one in win_tie_loss(table, "system 00")} == {
        one.system: one for one in win_tie_loss(other, "system 00")
    }
    for method in ("nemenyi", "wilcoxon-holm"):
        one, two = rank_groups(table, method), rank_groups(other, method)
        assert (one.systems, one.cliques, one.unjoined) == (two.systems, two.cliques, two.unjoined)
    p = {frozenset((one.first, one.second)): one.adjusted_p for one in pairwise_tests(table)}
    for one in pairwise_tests(other):
        assert p[frozenset((one.first, one.second))] == pytest.approx(one.adjusted_p)
    one, two = (mean_difference(t, "system 01", "system 00", n_draws=200) for t in (table, other))
    for field in ("difference", "low", "high"):
        assert getattr(one, field) == pytest.approx(getattr(two, field), abs=1e-9)
    spreads = {one.system: one.over_sets for one in system_spreads(table)}
    assert all(one.over_sets == pytest.approx(spreads[one.system]) for one in system_spreads(other))
