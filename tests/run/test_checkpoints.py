"""A fit that was stopped goes on after its last finished stage, and ends as if it had not been stopped."""

import errno
import logging
import os
import random
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

from consilience import (
    DistanceGraphFusion,
    KMeansLabels,
    SimilarityGraphFusion,
    Views,
    config_context,
    load,
    make_multiview,
)
from consilience.models import SharedViews, base, systems
from consilience.run import checkpoints
from consilience.run.execution import Run
from consilience.run.run_folder import LOCK, RunFolder

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
]
AFTER_EMBED = ("0008-sparsify", "0009-describe", "0010-redescribe", "0011-embed")
STAGES = ("search", "agree", "connect", "weigh", "fuse", "sparsify", "embed", "label")
RESUMED = [
    *((name, stage) for name in ("SGF", "DGF", "Average") for stage in STAGES),
    *((name, stage) for name in ("SGF", "DGF") for stage in ("trust", "describe", "redescribe")),
    *((name, stage) for name in ("SGF-0", "DGF-0") for stage in STAGES if stage not in ("agree", "connect")),
]


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_views=3, n_clusters=3, separation=3.0, random_state=0)


class Stop(BaseException):
    """Neither an Exception nor anything that the library knows."""


class Watch:
    """Counts the stages that are run, and stops before or after one."""

    def __init__(self, monkeypatch):
        self.ran, self.stop_before, self.stop_after = [], None, None
        plain = Run._run

        def run(stages, name, detail, work):
            def watched():
                if name == self.stop_before and self.skip_first <= self.ran.count(name):
                    raise Stop
                self.ran.append(name)
                return work()

            value = plain(stages, name, detail, watched)
            if name == self.stop_after:
                raise Stop
            return value

        self.skip_first = 0
        monkeypatch.setattr(Run, "_run", run)


@pytest.fixture
def watch(monkeypatch):
    return Watch(monkeypatch)


def content(model, tmp_path):
    """All that a fit has found, as the bytes of its file, without the time it took."""
    model.timings_ = {}
    return model.save(tmp_path / "compared.consilience", force=True).read_bytes()


def stopped(model, views, folder, watch, before=None, after=None):
    watch.stop_before, watch.stop_after = before, after
    with config_context(checkpoint_dir=folder), pytest.raises(Stop):
        model.fit(views)
    watch.stop_before = watch.stop_after = None
    watch.ran.clear()


def resumed(model, views, folder):
    with config_context(checkpoint_dir=folder):
        return model.fit(views)


@pytest.mark.parametrize(("name", "stage"), RESUMED)
def test_stopped_in_any_stage_it_ends_as_if_it_had_not_been_stopped(name, stage, sample, tmp_path, watch):
    made = {"n_clusters": 3, "random_state": 0}
    expected = content(systems()[name](**made).fit(sample.views), tmp_path)
    order = list(watch.ran)
    watch.ran.clear()
    watch.skip_first = int(stage == "search")  # after the first of the views
    folder = tmp_path / "kept"
    stopped(systems()[name](**made), sample.views, folder, watch, before=stage)
    model = resumed(systems()[name](**made), sample.views, folder)
    first = order.index(stage) + watch.skip_first
    assert watch.ran == ["prepare", *order[first:]]  # nothing that was finished is run again
    assert content(model, tmp_path) == expected
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("last", ["embed", "label"])
def test_stopped_again_and_again(last, sample, tmp_path, watch):
    expected = content(SimilarityGraphFusion(n_clusters=3, random_state=0).fit(sample.views), tmp_path)
    watch.ran.clear()
    for stage in ("search", "agree", "fuse", last):
        stopped(
            SimilarityGraphFusion(n_clusters=3, random_state=0), sample.views, tmp_path, watch, after=stage
        )
    model = resumed(SimilarityGraphFusion(n_clusters=3, random_state=0), sample.views, tmp_path)
    assert watch.ran == (["prepare"] if last == "label" else ["prepare", "label"])
    assert content(model, tmp_path) == expected


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": "auto"},
        {"assign_labels": "cluster_qr"},
        {"view_weights": "uniform", "row_weights": "uniform"},
        {"view_weights": [1.0, 2.0, 3.0]},
        {"solver": "exact"},
        {"metric": "cosine", "scale": "standard"},
        {"neighbor_search": "approximate"},
    ],
)
@pytest.mark.parametrize("stage", ["connect", "weigh", "embed"])
def test_whatever_the_parameters(parameters, stage, sample, tmp_path, watch):
    made = {"n_clusters": 3, "random_state": 0, **parameters}
    expected = content(DistanceGraphFusion(**made).fit(sample.views), tmp_path)
    stopped(DistanceGraphFusion(**made), sample.views, tmp_path / "kept", watch, after=stage)
    assert (
        content(resumed(DistanceGraphFusion(**made), sample.views, tmp_path / "kept"), tmp_path) == expected
    )


@pytest.mark.parametrize("stage", ["label", "embed"])
def test_labels_that_are_found_before_the_embedding(stage, sample, tmp_path, watch):
    pytest.importorskip("igraph", reason="igraph is not installed")
    made = {"n_clusters": 3, "random_state": 0, "assign_labels": "leiden"}
    expected = content(SimilarityGraphFusion(**made).fit(sample.views), tmp_path)
    assert watch.ran[-2:] == ["label", "embed"]
    stopped(SimilarityGraphFusion(**made), sample.views, tmp_path / "kept", watch, before=stage)
    model = resumed(SimilarityGraphFusion(**made), sample.views, tmp_path / "kept")
    assert watch.ran == ["prepare", *(["label", "embed"] if stage == "label" else ["embed"])]
    assert content(model, tmp_path) == expected


@pytest.mark.parametrize("stage", ["search", "agree", "fuse", "embed"])
def test_views_that_lack_samples_with_ids_in_no_order(stage, sample, tmp_path, watch):
    mask = np.random.default_rng(0).random((300, 3)) > 0.2
    mask[~mask.any(axis=1)] = True
    ids = np.random.default_rng(1).permutation(300)
    arrays = [
        np.where(seen[:, None], x, np.nan) for x, seen in zip(sample.views.values(), mask.T, strict=True)
    ]
    views = Views(arrays, sample_ids=ids)
    made = {"n_clusters": 3, "random_state": 0}
    expected = content(SimilarityGraphFusion(**made).fit(views), tmp_path)
    stopped(SimilarityGraphFusion(**made), views, tmp_path / "kept", watch, after=stage)
    model = resumed(SimilarityGraphFusion(**made), views, tmp_path / "kept")
    assert stage not in watch.ran or stage == "search"
    assert content(model, tmp_path) == expected


@pytest.mark.filterwarnings("ignore:View 'view_3' agrees with no other view")
@pytest.mark.parametrize("times", range(9))
def test_views_that_are_left_out_are_looked_at_twice(times, sample, tmp_path, watch):
    """The second look, in an order that does not depend on them, has checkpoints of its own."""
    noise = np.random.default_rng(0).normal(size=(300, 4))
    views, model = [*sample.views.values(), noise], DistanceGraphFusion(n_clusters=3, random_state=0)
    expected = content(DistanceGraphFusion(n_clusters=3, random_state=0).fit(views), tmp_path)
    watch.ran.clear()
    watch.skip_first = times if times < 8 else 1
    stopped(model, views, tmp_path / "run", watch, before="search" if times < 8 else "agree")
    assert content(resumed(model, views, tmp_path / "run"), tmp_path) == expected
    assert watch.ran.count("search") == 8 - times
    assert watch.ran.count("agree") == (2 if times < 4 else 1)


def test_shared_views_resume_too(sample, tmp_path, watch):
    made = {"n_clusters": 3, "random_state": 0, "effort": "low"}
    expected = SimilarityGraphFusion(**made).fit(sample.views)
    shared = SharedViews(sample.views)
    stopped(SimilarityGraphFusion(**made), shared, tmp_path, watch, after="weigh")
    model = resumed(SimilarityGraphFusion(**made), shared, tmp_path)
    assert watch.ran[:2] == ["prepare", "fuse"]
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)


def test_a_fit_without_a_seed_goes_on_with_the_numbers_it_began_with(sample, tmp_path, watch):
    made = {"n_clusters": 3, "assign_labels": KMeansLabels(n_init=1)}
    np.random.seed(3)  # noqa: NPY002 - what random_state=None draws from
    expected = SimilarityGraphFusion(**made).fit(sample.views)
    np.random.seed(3)  # noqa: NPY002
    stopped(SimilarityGraphFusion(**made), sample.views, tmp_path, watch, after="embed")
    np.random.seed(99)  # noqa: NPY002
    model = resumed(SimilarityGraphFusion(**made), sample.views, tmp_path)
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    # And other code that draws from NumPy's generator is not disturbed.
    assert np.random.random() == np.random.RandomState(99).random_sample()  # noqa: NPY002


@pytest.mark.parametrize("stage", ["embed", "label"])
def test_a_generator_that_is_passed_ends_in_the_same_state(stage, sample, tmp_path, watch):
    through, again = np.random.RandomState(5), np.random.RandomState(5)
    expected = SimilarityGraphFusion(effort="low", n_clusters=3, random_state=through).fit(sample.views)
    stopped(
        SimilarityGraphFusion(effort="low", n_clusters=3, random_state=again),
        sample.views,
        tmp_path,
        watch,
        after=stage,
    )
    again = np.random.RandomState(5)  # a new process
    model = resumed(
        SimilarityGraphFusion(effort="low", n_clusters=3, random_state=again), sample.views, tmp_path
    )
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert again.random_sample() == through.random_sample()


def test_what_was_warned_of_is_warned_of_again(sample, tmp_path, watch):
    noise = np.random.default_rng(0).normal(size=(300, 5))
    views = {**sample.views, "noise": noise}
    model = SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0)
    with pytest.warns(UserWarning, match="agrees with no other view"):
        expected = model.fit(views).warnings_
    with pytest.warns(UserWarning, match="agrees with no other view"):
        stopped(model, views, tmp_path, watch, after="sparsify")
    with pytest.warns(UserWarning, match="agrees with no other view"):
        model = resumed(model, views, tmp_path)
    assert "agree" not in watch.ran
    assert set(model.warnings_) == set(expected)


@pytest.mark.parametrize(
    "other",
    [
        {"n_clusters": 4},
        {"beta": 2.0},
        {"random_state": 1},
        {"n_neighbors": 15},
        {"view_weights": [1.0, 1.0, 2.0]},
        {"class": DistanceGraphFusion},
        {"data": True},
        {"version": True},
    ],
    ids=str,
)
def test_another_fit_does_not_go_on_from_it(other, sample, tmp_path, watch, monkeypatch):
    stopped(
        SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0),
        sample.views,
        tmp_path,
        watch,
        after="sparsify",
    )
    other, cls, views = dict(other), SimilarityGraphFusion, dict(sample.views)
    cls = other.pop("class", cls)
    if other.pop("data", False):
        name = next(iter(views))
        views[name] = views[name].copy()
        views[name][7, 1] += 1e-9
    if other.pop("version", False):
        monkeypatch.setattr("consilience.run.checkpoint_files.versions", lambda: {"consilience": "other"})
    resumed(cls(**{"n_clusters": 3, "random_state": 0, **other}), views, tmp_path)
    assert watch.ran.count("search") == 3
    kept = list(tmp_path.iterdir())
    assert len(kept) == 1 and list(kept[0].glob("*.checkpoint"))  # that of the first is still there


def test_what_does_not_matter_for_the_result_does_not_matter(sample, tmp_path, watch):
    model = SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0)
    stopped(model, sample.views, tmp_path, watch, after="embed")
    model.set_params(n_jobs=1, callback=lambda *_: None)
    resumed(model, sample.views, tmp_path)
    assert watch.ran == ["prepare", "label"]


@pytest.mark.parametrize("harm", ["cut off", "changed", "empty", "removed", "of another fit"])
@pytest.mark.parametrize("kind", ["0011-embed.result", "0008-sparsify.checkpoint", "0005-trust.checkpoint"])
def test_of_a_damaged_file_a_warning_is_given_and_its_stage_is_run_again(harm, kind, sample, tmp_path, watch):
    made = {"n_clusters": 3, "random_state": 0}
    expected = content(SimilarityGraphFusion(**made).fit(sample.views), tmp_path)
    stopped(SimilarityGraphFusion(**made), sample.views, tmp_path / "kept", watch, after="embed")
    (own,) = (tmp_path / "kept").iterdir()
    file = own / kind
    assert file.is_file()
    data = file.read_bytes()
    if harm == "cut off":
        file.write_bytes(data[: len(data) // 2])
    elif harm == "changed":
        file.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    elif harm == "empty":
        file.write_bytes(b"")
    elif harm == "removed":
        file.unlink()
    else:
        stopped(
            SimilarityGraphFusion(n_clusters=3, random_state=1),
            sample.views,
            tmp_path / "b",
            watch,
            after="embed",
        )
        file.write_bytes((next((tmp_path / "b").iterdir()) / kind).read_bytes())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = resumed(SimilarityGraphFusion(**made), sample.views, tmp_path / "kept")
    assert any("cannot be used" in str(one.message) for one in caught) == (harm != "removed")
    assert kind.split("-")[1].split(".")[0] in watch.ran
    assert not any("cannot be used" in text for text in model.warnings_)  # it is nothing about the result
    assert content(model, tmp_path) == expected
    assert list((tmp_path / "kept").iterdir()) == []


def test_results_that_no_later_stage_needs_are_removed(sample, tmp_path, watch):
    def files(after):
        folder = tmp_path / after
        stopped(
            SimilarityGraphFusion(n_clusters=3, random_state=0),
            sample.views,
            folder,
            watch,
            after=after,
        )
        return {file.name for file in next(folder.iterdir()).glob("*.result")}

    lists = {"0000-search.result", "0001-search.part1.result", "0002-search.part2.result"}
    assert files("agree") == {*lists, "0003-agree.result"}
    kept = {"0003-agree.result", "0005-trust.result"}
    assert files("connect") == {*lists, "0003-agree.result", "0004-connect.result"}
    assert files("trust") == {*lists, *kept, "0004-connect.result"}
    assert files("weigh") == {*kept, "0004-connect.result", "0006-weigh.result"}
    assert files("fuse") == {*kept, "0004-connect.result", "0007-fuse.result"}
    # The fitted model needs what the views were selected by, what was fused, and the descriptions.
    kept.add("0007-fuse.result")
    assert files("sparsify") == {*kept, "0008-sparsify.result"}
    assert files("describe") == {*kept, "0008-sparsify.result", "0009-describe.result"}
    found = files("embed")
    assert found == {*kept, *(f"{name}.result" for name in AFTER_EMBED)}


def test_two_runs_at_once_do_not_disturb_each_other(sample, tmp_path, watch):
    made = {"n_clusters": 3, "random_state": 0, "effort": "low"}
    stopped(SimilarityGraphFusion(**made), sample.views, tmp_path, watch, after="sparsify")
    (own,) = tmp_path.iterdir()
    other = RunFolder(tmp_path, own.name)  # as if a second process had gone on with it
    before = {file.name for file in own.iterdir()}
    resumed(SimilarityGraphFusion(**made), sample.views, tmp_path)
    assert watch.ran.count("search") == 3
    assert {file.name for file in own.iterdir()} == before and list(tmp_path.iterdir()) == [own]
    other.release()
    watch.ran.clear()
    resumed(SimilarityGraphFusion(**made), sample.views, tmp_path)
    assert watch.ran == ["prepare", "embed", "label"] and list(tmp_path.iterdir()) == []


def test_files_of_others_are_left_alone(sample, tmp_path, watch):
    made = {"n_clusters": 3, "random_state": 0, "effort": "low"}
    stopped(SimilarityGraphFusion(**made), sample.views, tmp_path, watch, after="weigh")
    (own,) = tmp_path.iterdir()
    (own / "notes.txt").write_text("mine")
    (tmp_path / "next to it.txt").write_text("mine, too")
    resumed(SimilarityGraphFusion(**made), sample.views, tmp_path)
    assert {file.name for file in own.iterdir()} - {LOCK} == {"notes.txt"}
    assert (tmp_path / "next to it.txt").exists()


def test_what_a_killed_run_was_writing_is_removed(sample, tmp_path, watch):
    stopped(
        SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0),
        sample.views,
        tmp_path,
        watch,
        after="weigh",
    )
    (own,) = tmp_path.iterdir()
    (own / ".0123456789abcdef.part").write_bytes(b"half")
    resumed(SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0), sample.views, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_checkpoints_and_says_where(sample, tmp_path, monkeypatch, caplog):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    model = SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0).fit(sample.views)
    before = dict(vars(model))
    monkeypatch.setattr(base, "embed", interrupted)
    with caplog.at_level(logging.WARNING, "consilience"):
        with pytest.raises(KeyboardInterrupt), config_context(checkpoint_dir=tmp_path):
            model.fit(sample.views)
    assert vars(model) == before  # of the same objects
    (own,) = tmp_path.iterdir()
    assert not list(own.glob(".*")) and str(own) in caplog.text and "goes on from there" in caplog.text


def test_an_interrupt_while_a_checkpoint_is_written_leaves_no_half_of_it(sample, tmp_path, monkeypatch):
    plain, calls = checkpoints.write_file, []

    def interrupted(path, kind, key, stage, values):
        calls.append(path)
        if path.name == "0003-agree.result":
            values = {**values, "value": [values["value"], Interrupting()]}
        plain(path, kind, key, stage, values)

    class Interrupting:
        @property
        def __class__(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "write_file", interrupted)
    with pytest.raises(KeyboardInterrupt), config_context(checkpoint_dir=tmp_path):
        SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0).fit(sample.views)
    (own,) = tmp_path.iterdir()
    assert not list(own.glob(".*")) and len(list(own.glob("*.checkpoint"))) == 3


def test_a_fit_that_fails_before_its_first_stage_leaves_nothing(sample, tmp_path):
    with pytest.raises(ValueError, match="Every view is constant"), config_context(checkpoint_dir=tmp_path):
        SimilarityGraphFusion(n_clusters=3).fit([np.ones((30, 2))])
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_the_checkpoints_and_not_the_fit(sample, tmp_path, monkeypatch):
    plain, calls = checkpoints.write_file, []

    def full(path, *args):
        calls.append(path)
        if len(calls) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(path, *args)

    expected = SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0).fit(sample.views)
    monkeypatch.setattr(checkpoints, "write_file", full)
    with pytest.warns(UserWarning, match=r"'search.part2' cannot be written .*No space left.*goes on"):
        model = resumed(
            SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0), sample.views, tmp_path
        )
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert len(calls) == 6 and list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(sample, tmp_path, watch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with (
            pytest.raises(OSError, match="cannot be written into") as refused,
            config_context(checkpoint_dir=folder),
        ):
            SimilarityGraphFusion(n_clusters=3).fit(sample.views)
        assert "\n" not in str(refused.value) and watch.ran == []


def test_a_metric_that_is_a_function_has_no_checkpoints(tmp_path):
    views = [np.random.default_rng(0).normal(size=(30, 2)) + 9 * (np.arange(30) % 2)[:, None]]
    model = SimilarityGraphFusion(n_clusters=2, metric=lambda a, b: float(abs(a - b).sum()), random_state=0)
    with pytest.warns(UserWarning, match="No checkpoints are written: .* function"):
        resumed(model, views, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_systems_that_do_not_resume_are_fitted_all_the_same(sample, tmp_path):
    resumed(systems()["CoReg"](n_clusters=3, random_state=0), sample.views, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_fit_without_a_folder_writes_nothing(sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SimilarityGraphFusion(effort="low", n_clusters=3, random_state=0).fit(sample.views)
    assert list(tmp_path.iterdir()) == []


# One process imports everything, which takes longer than a fit; its children fit, and are killed.
PROGRAM = textwrap.dedent(
    """
    import os, signal, sys, time, warnings
    from consilience import SimilarityGraphFusion, config_context, make_multiview
    warnings.simplefilter("ignore")
    views = make_multiview(3000, n_views=3, n_clusters=5, separation=2.0, random_state=0).views
    for line in sys.stdin:
        folder, target, seconds = line.rstrip().split("|")
        began = time.perf_counter()
        child = os.fork()
        if child == 0:
            with config_context(checkpoint_dir=folder):
                model = SimilarityGraphFusion(n_clusters=5, random_state=0, n_jobs=1).fit(views)
            model.timings_ = {}
            model.save(target, force=True)
            os._exit(0)
        if seconds:
            time.sleep(float(seconds))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(status, time.perf_counter() - began, flush=True)
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_killed_at_random_moments(tmp_path):
    through, killed = tmp_path / "through.consilience", tmp_path / "killed.consilience"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:

        def fit(folder, target, seconds=""):
            process.stdin.write(f"{tmp_path / folder}|{target}|{seconds}\n")
            status, took = process.stdout.readline().split()
            return int(status), float(took)

        assert fit("a", through)[0] == 0  # loads what is compiled
        status, whole = fit("a", through)
        assert status == 0
        chance, n_killed = random.Random(0), 0
        for _ in range(6):
            n_killed += fit("b", killed, chance.uniform(0.0, 0.5) * whole)[0] == signal.SIGKILL
        assert n_killed >= 3
        assert fit("b", killed)[0] == 0
        process.stdin.close()
    assert list((tmp_path / "b").iterdir()) == []
    assert killed.read_bytes() == through.read_bytes()
    assert load(killed).labels_.shape == (3000,)
