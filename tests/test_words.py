"""Numbers, names and lists as people write them."""

from __future__ import annotations

import numpy as np

from consilience.words import clipped, decimal, distinct, listed, percent


def test_numbers_in_words():
    assert [percent(x) for x in (0, 0.004, 0.5, 0.996, 1, np.nan)] == [
        "0 %",
        "< 1 %",
        "50 %",
        "> 99 %",
        "100 %",
        "–",
    ]
    assert [decimal(x) for x in (-0.001, 0.126, np.nan)] == ["0.00", "0.13", "–"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcd"), 2) == "a, b and 2 more"
    assert listed(list("abcd"), 3, "view") == "a, b, c and one more view"


def test_long_names_are_clipped_in_the_middle():
    long = [f"{'x' * 100}_{i}_{'y' * 20}" for i in range(2)]
    assert clipped("abcdefghij", 5) == "ab…ij"
    assert clipped("abcdefghij", 10) == "abcdefghij"
    assert len(clipped(long[0])) == 80
    assert distinct(long)[0] != distinct(long)[1]
    assert distinct(["a", "b"]) == ["a", "b"]
    for apart in (
        [f"{'x' * 100}{i}{'y' * 100}" for i in range(30)],  # in the middle
        [f"a rather long name of view {i} measured twice" for i in range(30)],
        [f"{'x' * 100}{i // 5}{'y' * 100}{i % 5}{'z' * 100}" for i in range(30)],  # in two places
    ):
        for longest in (12, 21, 28, 80):
            short = distinct([*apart, "short"], longest)
            assert len(set(short)) == 31
            assert short[-1] == "short"
            assert max(map(len, short)) <= longest
