"""Settings in messages, as the command shows them: as its options. No message is searched for words."""

import argparse
import inspect

import pytest

from consilience import DistanceGraphFusion
from consilience.cli import build_parser
from consilience.commands import options
from consilience.commands.options import in_options
from consilience.run.messages import Advice, Setting

COMMANDS = {
    "cluster": ["cluster", "a.csv", "--clusters", "3"],
    "report": ["report", "a.csv", "--clusters", "3"],
    "compare": ["compare", "a.csv", "--clusters", "3"],
}


@pytest.fixture
def given():
    """Return a function: name of a command -> what its parser makes of a line."""
    return lambda name: build_parser().parse_args(COMMANDS[name])


@pytest.mark.parametrize("command", COMMANDS)
def test_settings_are_written_as_options(given, command):
    advice = Advice(
        "Fewer neighbors (", Setting("n_neighbors"), ") or ", Setting("memory_limit", "2 GiB"), " may help."
    )
    assert (
        in_options(advice, given(command)) == "Fewer neighbors (--neighbors) or --max-memory 2 GiB may help."
    )


def test_a_setting_without_an_option_is_written_as_in_python(given):
    advice = Advice("See ", Setting("beta"), " and ", Setting("solver", "exact"), ".")
    assert in_options(advice, given("cluster")) == "See beta and solver='exact'." == str(advice)


def test_an_option_of_another_command_is_no_option(given):
    advice = Advice(Setting("resolution", 2.0))
    assert in_options(advice, given("cluster")) == "--resolution 2.0"
    assert (
        in_options(advice, given("compare")) == in_options(advice, argparse.Namespace()) == "resolution=2.0"
    )


def test_some_values_have_words_of_their_own(given):
    advice = Advice(Setting("directed", True), ", ", Setting("directed", False), ", ", Setting("n_jobs", 1))
    assert in_options(advice, given("cluster")) == "--directed, --no-directed, NUMBA_NUM_THREADS=1"
    assert in_options(Advice(Setting("n_jobs", 2)), given("cluster")) == "n_jobs=2"


TEXT = "View 'n_neighbors' (scale='none', metric) is named like view_weights='uniform'."


@pytest.mark.parametrize("wrap", [str, ValueError, UserWarning, Advice])
def test_words_that_look_like_settings_stay(given, wrap):
    assert in_options(wrap(TEXT), given("cluster")) == TEXT


def test_only_the_settings_of_a_text_change(given):
    advice = Advice(TEXT, " ", Setting("view_weights", "uniform"), " keeps it.")
    for message in (advice, ValueError(advice), UserWarning(advice)):
        assert in_options(message, given("cluster")) == f"{TEXT} --view-weights uniform keeps it."
    assert str(ValueError(advice)) == f"{TEXT} view_weights='uniform' keeps it."


def test_advice_inside_advice_and_joined_advice_keep_their_settings(given):
    inner = Advice(Setting("n_clusters"), " is 3")
    assert in_options(Advice("a.csv: ", inner), given("cluster")) == "a.csv: --clusters is 3"
    assert in_options(Advice.joined("; ", [inner, "so", inner]), given("cluster")) == (
        "--clusters is 3; so; --clusters is 3"
    )


def test_an_error_of_the_library_is_read_as_options(given):
    with pytest.raises(ValueError, match=r"n_clusters must be a positive integer") as caught:
        DistanceGraphFusion(n_clusters=0).fit({"a": [[1.0], [2.0], [3.0]]})
    assert in_options(caught.value, given("cluster")).startswith("--clusters must be a positive integer")


@pytest.mark.parametrize("command", ["cluster", "report"])
def test_every_option_named_is_one_that_the_command_has(given, command):
    arguments = given(command)
    for parameter, option in options._OPTIONS.items():
        assert in_options(Advice(Setting(parameter)), arguments) in (option, parameter)
        assert option.removeprefix("--").replace("-", "_") in arguments, option


def test_nothing_is_searched_for_words():
    """Whoever searches a message for words changes names of files and views, too."""
    source = inspect.getsource(options)
    assert source.count(".replace(") == source.count('.replace("-", "_")') and "re.sub" not in source
