"""Messages that people read: settings in them, warnings at the caller's line, checks of parameters."""

import copy
import pickle
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from consilience import DistanceGraphFusion
from consilience.engines import get_engine
from consilience.run import messages
from consilience.run.messages import (
    Advice,
    KeptWarning,
    Setting,
    check_choice,
    check_count,
    check_number,
    collected_warnings,
    held_warnings,
    is_positive_integer,
    keep_warnings,
    kept_so_far,
    show_held,
    text_of,
    warn,
    written,
)

ADVICE = Advice(
    "It is left out; ", Setting("view_weights", "uniform"), " keeps it. Raise ", Setting("gamma"), "."
)
TEXT = "It is left out; view_weights='uniform' keeps it. Raise gamma."


def as_option(setting):
    """Write a setting as a command does."""
    name = "--" + setting.parameter.replace("_", "-")
    return f"{name} {setting.value}" if setting.has_value else name


# Settings and advice


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (Setting("scale", "none"), "scale='none'"),
        (Setting("n_neighbors", 5), "n_neighbors=5"),
        (Setting("random_state", None), "random_state=None"),
        (Setting("n_neighbors"), "n_neighbors"),
        (Setting("name", ""), "name=''"),
    ],
)
def test_settings_are_written_as_python(setting, text):
    assert str(setting) == text
    assert setting.has_value is ("=" in text)


def test_a_setting_may_have_an_array_for_its_value():
    assert Setting("view_weights", np.ones(2)).has_value


def test_advice_is_text_like_any_other():
    assert isinstance(ADVICE, str) and ADVICE == TEXT and hash(ADVICE) == hash(TEXT)
    assert str(ADVICE) == TEXT and f"{ADVICE}" == TEXT and ADVICE.startswith("It is")
    assert str(ValueError(ADVICE)) == TEXT
    assert Advice() == ""


def test_settings_in_advice_are_written_as_the_reader_needs_them():
    expected = "It is left out; --view-weights uniform keeps it. Raise --gamma."
    assert ADVICE.written(as_option) == expected
    assert written(ADVICE, as_option) == expected
    assert written("Raise gamma.", as_option) == "Raise gamma."  # in plain text nothing is searched for
    assert ADVICE.written(str) == TEXT


def test_parts_that_are_advice_are_taken_apart():
    both = Advice("First: ", ADVICE, " ", Setting("beta", 2))
    assert both == f"First: {TEXT} beta=2"
    assert not any(isinstance(part, Advice) for part in both.parts)
    assert both.written(as_option).endswith("Raise --gamma. --beta 2")


def test_texts_are_joined_with_their_settings():
    joined = Advice.joined("; ", ["plain", ADVICE, Advice(Setting("scale"))])
    assert joined == f"plain; {TEXT}; scale"
    assert joined.written(as_option).endswith("--gamma.; --scale")
    assert Advice.joined("; ", []) == ""


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_of_advice_keep_the_settings(again):
    other = again(ADVICE)
    assert type(other) is Advice and other == ADVICE and other.parts == ADVICE.parts


def test_the_text_of_a_message_keeps_its_settings():
    assert text_of(ADVICE) is ADVICE
    for kind in (ValueError, UserWarning, MemoryError):
        assert text_of(kind(ADVICE)) is ADVICE
    assert text_of("plain") == text_of(ValueError("plain")) == "plain"


def test_the_text_of_an_error_is_what_it_says_of_itself():
    assert text_of(KeyError("a")) == "'a'"  # a KeyError shows its argument quoted
    assert text_of(OSError(2, "No such file")) == "[Errno 2] No such file"
    assert text_of(ValueError(3)) == "3"
    assert text_of(ValueError()) == ""
    assert text_of(ValueError("a", "b")) == "('a', 'b')"


# Warnings


def test_a_warning_names_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("careful")
    (one,) = caught
    assert Path(one.filename).name == Path(__file__).name
    assert one.category is UserWarning and str(one.message) == "careful"
    assert "warn(" in Path(__file__).read_text().splitlines()[one.lineno - 1]


def test_a_warning_from_deep_inside_the_package_names_the_line_that_called_the_package():
    # The package, scikit-learn's wrapper around fit, and the threads of an engine are between the two.
    x = np.random.default_rng(0).normal(size=(40, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DistanceGraphFusion(n_clusters=2, random_state=0).fit([x, np.ones((40, 2))])  # this line
    about = [one for one in caught if "is constant" in str(one.message)]
    assert len(about) == 1
    assert Path(about[0].filename).name == Path(__file__).name
    assert "# this line" in Path(__file__).read_text().splitlines()[about[0].lineno - 1]


def test_a_warning_of_a_category_and_one_that_is_an_object():
    with pytest.warns(ConvergenceWarning, match="slow"):
        warn("slow", ConvergenceWarning)
    with keep_warnings() as kept, pytest.warns(ConvergenceWarning, match="slow"):
        warn(ConvergenceWarning("slow"))
    assert kept == [KeptWarning("slow", ConvergenceWarning)]


def test_warnings_are_kept_and_shown():
    with keep_warnings() as kept, pytest.warns(UserWarning) as shown:
        warn(ADVICE)
        warn("twice")
        warn("twice")
        warn("only about this run", lasting=False)
    assert kept == [KeptWarning(TEXT, UserWarning)] + 2 * [KeptWarning("twice", UserWarning)]
    assert kept[0].text is ADVICE  # with its settings
    assert [str(one.message) for one in shown] == [TEXT, "twice", "twice", "only about this run"]


def test_held_warnings_are_given_when_they_are_shown():
    with keep_warnings() as kept, pytest.warns(RuntimeWarning) as shown:
        with held_warnings() as held:
            warn("held", RuntimeWarning)
            warn("of this run", RuntimeWarning, lasting=False)
            assert [one.text for one in kept_so_far()] == ["held"]
        with held_warnings():
            warn("dropped")
        assert kept == [] and len(shown) == 0
        show_held(held)
    assert [one.text for one in kept] == ["held"]
    assert [str(one.message) for one in shown] == ["held", "of this run"]
    assert shown[0].filename == __file__


def test_the_innermost_block_keeps_them():
    with pytest.warns(UserWarning), keep_warnings() as outer:
        warn("first")
        with keep_warnings() as inner:
            assert kept_so_far() == ()
            warn("second")
            assert [one.text for one in kept_so_far()] == ["second"]
        warn("third")
        assert [one.text for one in kept_so_far()] == ["first", "third"]
    assert [one.text for one in outer] == ["first", "third"] and [one.text for one in inner] == ["second"]
    assert kept_so_far() == ()


def test_they_are_kept_when_the_block_fails_or_warnings_are_errors():
    with pytest.raises(KeyError), pytest.warns(UserWarning), keep_warnings() as kept:
        warn("before")
        raise KeyError
    assert [one.text for one in kept] == ["before"] and kept_so_far() == ()
    with warnings.catch_warnings(), keep_warnings() as kept:
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="strict"):
            warn("strict")
    assert [one.text for one in kept] == ["strict"]


def test_they_are_kept_where_they_are_not_shown():
    with warnings.catch_warnings(), keep_warnings() as kept:
        warnings.simplefilter("ignore")
        warn("quiet")
    assert [one.text for one in kept] == ["quiet"]


def test_another_thread_keeps_its_own():
    with keep_warnings() as kept, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = threading.Thread(target=warn, args=("elsewhere",))
        other.start()
        other.join()
    assert kept == []


def test_a_model_keeps_the_warnings_of_its_fit():
    x = np.random.default_rng(0).normal(size=(40, 3))
    model = DistanceGraphFusion(n_clusters=2, random_state=0)
    with pytest.warns(UserWarning) as shown:
        model.fit([x, np.ones((40, 2))])
    assert model.warnings_ == tuple(dict.fromkeys(str(one.message) for one in shown))


def test_collected_warnings_are_not_shown_and_each_is_there_once():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with collected_warnings() as texts:
            warn(ADVICE)
            warn("twice")
            warnings.warn("of another package", RuntimeWarning, stacklevel=1)
            warn("twice")
            assert texts == []  # only after the block
    assert shown == [] and texts == [TEXT, "twice", "of another package"]
    assert texts[0] is ADVICE


def test_collected_warnings_of_a_block_that_fails():
    with pytest.raises(KeyError), collected_warnings() as texts:
        warn("before")
        raise KeyError
    assert texts == ["before"]


# Checks of parameters


@pytest.mark.parametrize("good", [0, 0.5, 7, np.float32(2), np.int64(3), 1e100])
def test_numbers_that_are_accepted(good):
    assert check_number("beta", good) is None


@pytest.mark.parametrize("bad", [-1, -1e-9, np.nan, np.inf, -np.inf, True, "3", None, [1], 1j])
def test_numbers_that_are_refused(bad):
    with pytest.raises(ValueError) as caught:
        check_number("beta", bad)
    assert str(caught.value) == f"beta must be a finite number of at least 0, got {bad!r}."


def test_bounds_of_numbers():
    check_number("tol", 1, least=1)
    with pytest.raises(ValueError, match=r"^tol must be a finite number of at least 1, got 0\.5\.$"):
        check_number("tol", 0.5, least=1)
    with pytest.raises(ValueError, match=r"^resolution must be a finite number above 0, got 0\.$"):
        check_number("resolution", 0, strictly=True)
    with pytest.raises(ValueError, match=r"^beta must be at most 1e\+100, got 1e\+101\.$"):
        check_number("beta", 1e101)


@pytest.mark.parametrize("good", [1, 30, np.int64(2), np.uint8(4)])
def test_counts_that_are_accepted(good):
    assert is_positive_integer(good)
    assert check_count("max_iter", good) is None


@pytest.mark.parametrize("bad", [0, -3, 2.0, True, "auto", None, np.float64(3), np.bool_(True)])
def test_counts_that_are_refused(bad):
    assert not is_positive_integer(bad)
    with pytest.raises(ValueError) as caught:
        check_count("max_iter", bad)
    assert str(caught.value) == f"max_iter must be a positive integer, got {bad!r}."


def test_choices():
    assert check_choice("scale", "none", ("none", "standard")) is None
    for bad in ("None", None, 3, ["none"], np.ones(2)):
        with pytest.raises(ValueError) as caught:
            check_choice("scale", bad, ("none", "standard"))
        assert str(caught.value) == f"Unknown scale {bad!r}; known: 'none', 'standard'."
    with pytest.raises(ValueError, match=r"known: 'auto' or an integer\.$"):
        check_choice("n_neighbors", "all", ("auto",), "an integer")


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (lambda: check_number("row_weights", -1), "--row-weights must be a finite number"),
        (lambda: check_number("row_weights", 1e101), "--row-weights must be at most"),
        (lambda: check_count("row_weights", 0), "--row-weights must be a positive integer"),
        (lambda: check_choice("row_weights", "x", ("y",)), "Unknown --row-weights 'x'; known: 'y'."),
    ],
)
def test_checks_name_the_parameter_as_a_setting(check, expected):
    with pytest.raises(ValueError) as caught:
        check()
    assert written(text_of(caught.value), as_option).startswith(expected)


def test_lines_of_the_package_and_of_the_wrapper_around_fit_are_not_the_callers():
    assert messages._is_ours(messages.__file__)
    assert messages._is_ours(get_engine.__code__.co_filename)
    assert messages._is_ours(BaseEstimator.get_params.__code__.co_filename)
    assert not messages._is_ours(__file__) and not messages._is_ours(np.__file__)
