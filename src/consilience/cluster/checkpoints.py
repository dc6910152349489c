"""What the finished stages of a fit have found, in files, so that a killed fit can go on from there.

A stage is known by its place and name. Kept are what it returned, which attributes of the model it set or
deleted, what it warned of, the time it took, and the random state after it: all that later stages can see of
it. The folder is named by a digest of everything that the result depends on: only the same fit finds it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..files import UNFINISHED
from ..warned import kept_so_far, warn
from .checkpoint_files import RECORD, RESULT, Record, fit_key, read_file, write_file
from .run_folder import RunFolder
from .saving.errors import ModelFileError

if TYPE_CHECKING:
    from .base import MultiviewClusterer

logger = logging.getLogger("consilience")

RECORD_SUFFIX, RESULT_SUFFIX = ".checkpoint", ".result"
_STAGE = re.compile(r"\d\d-\w+")
_WARNINGS = {kind.__name__: kind for kind in (UserWarning, RuntimeWarning, ConvergenceWarning)}
_ABSENT = object()


def open_checkpoints(
    folder: Path, model: MultiviewClusterer, fingerprint: str, random_state: np.random.RandomState
) -> Checkpoints | None:
    """Return the checkpoints of a fit, with what an earlier run of it has left; None if it can have none.

    Parameters
    ----------
    folder : Path
        Where to keep them, in a folder of their own.
    model : MultiviewClusterer
        Who is fitted, its parameters checked.
    fingerprint : str
        Of the data.
    random_state : RandomState
        What the stages draw from.
    """
    try:
        key = fit_key(model, fingerprint)
    except ValueError as error:
        warn(f"No checkpoints are written: {error}", lasting=False)
        return None
    return Checkpoints(folder, key, model, random_state)


class Checkpoints:
    """The checkpoints of one fit.

    Parameters
    ----------
    folder, model, random_state
        As for `open_checkpoints`.
    key : str
        The digest that names the fit.

    Attributes
    ----------
    path : Path
        The folder of this fit.
    random_state : RandomState
        What the stages are to draw from.
    """

    def __init__(
        self, folder: Path, key: str, model: MultiviewClusterer, random_state: np.random.RandomState
    ) -> None:
        self.model, self._key = model, key
        self._folder = RunFolder(folder, f"consilience-{key[:24]}")
        self.path = self._folder.path
        for scratch in self.path.glob(UNFINISHED):
            scratch.unlink()  # of a run that was killed while it wrote
        self._n_stages = 0
        self._writes = True
        self._own: set[Path] = set()  # files that are ours to remove
        self._results: dict[str, Any] = {}
        self._records = self._chain(self._read_records())
        self._results = {stage: one for stage, one in self._results.items() if stage in self._records}
        self._gone: set[str] = set()
        if self._records:
            last = max(self._records)
            self._gone = set(self._records[last].gone)
            logger.info("going on after the stage %r, from %s", last, self.path)
        self._clear_up()
        unseeded = model.random_state is None or model.random_state is np.random
        # What draws from NumPy's own generator leaves that alone when it goes on from an earlier state.
        self.random_state = np.random.RandomState(0) if unseeded and self._records else random_state

    def stage(self, name: str) -> StageCheckpoint:
        """Return the checkpoint of the next stage."""
        self._n_stages += 1
        return StageCheckpoint(self, f"{self._n_stages - 1:02d}-{name}")

    def remove(self) -> None:
        """Remove what this fit has written: it is done."""
        for file in self._own:
            file.unlink(missing_ok=True)
        self._own = set()
        self._folder.release()

    def leave(self) -> None:
        """Leave for another run what this fit has written, and say how to go on."""
        if self._own:
            logger.warning(
                "%s was stopped; what its finished stages have found is in %s. Started again with the same "
                "folder for checkpoints, the same fit goes on from there.",
                type(self.model).__name__,
                self.path,
            )
        self._records, self._results = {}, {}
        self._folder.release()

    def _file(self, stage: str, suffix: str) -> Path:
        return self.path / f"{stage}{suffix}"

    def _read_records(self) -> dict[str, Record]:
        """Return what the records say that can be read."""
        found: dict[str, Record] = {}
        for file in sorted(self.path.glob(f"*{RECORD_SUFFIX}")):
            stage = file.name.removesuffix(RECORD_SUFFIX)
            values = self._read(file, RECORD, stage) if _STAGE.fullmatch(stage) else None
            if values is not None:
                found[stage] = Record(**values)
        return found

    def _read(self, file: Path, kind: Any, stage: str) -> dict[str, Any] | None:
        try:
            return read_file(file, kind, self._key, stage)
        except (ModelFileError, OSError) as error:
            warn(f"The checkpoint {file} cannot be used, its stage is run again: {error}.", lasting=False)
            return None

    def _chain(self, found: dict[str, Record]) -> dict[str, Record]:
        """Return the stages that need not be run again: up to the last for which all is there."""
        numbers = {_number(stage): stage for stage in found}
        unbroken = [numbers[i] for i in range(len(numbers)) if all(j in numbers for j in range(i + 1))]
        while unbroken:
            gone = found[unbroken[-1]].gone
            if all(self._has_result(stage) for stage in unbroken if stage not in gone):
                break
            unbroken.pop()
        return {stage: found[stage] for stage in unbroken}

    def _has_result(self, stage: str) -> bool:
        """Read what a stage returned, and say whether that is there."""
        if stage not in self._results:
            file = self._file(stage, RESULT_SUFFIX)
            read = self._read(file, RESULT, stage) if file.exists() else None
            if read is None:
                return False
            self._results[stage] = read["value"]
        return True

    def _clear_up(self) -> None:
        """Take the files over that go on; remove those of stages that are run again, or that nobody needs."""
        for stage in self._records:
            self._own.add(self._file(stage, RECORD_SUFFIX))
            if stage not in self._gone:
                self._own.add(self._file(stage, RESULT_SUFFIX))
        for file in self.path.iterdir():
            stage, suffix = file.stem, file.suffix
            if suffix in (RECORD_SUFFIX, RESULT_SUFFIX) and _STAGE.fullmatch(stage) and file not in self._own:
                file.unlink()

    def is_behind(self, stage: str) -> bool:
        """Say whether a stage need not be run again."""
        return stage in self._records

    def take(self, stage: str) -> tuple[Record, Any]:
        """Return what such a stage did, and what it returned; None if nobody needs that."""
        return self._records[stage], self._results.pop(stage, None)

    def write(self, stage: str, value: Any, record: dict[str, Any], done_with: Sequence[str]) -> None:
        """Write what a stage returned and did; then remove the results that nobody needs any more."""
        if not self._writes:
            return
        result, report = self._file(stage, RESULT_SUFFIX), self._file(stage, RECORD_SUFFIX)
        ended = [file for file in self._own if file.suffix == RESULT_SUFFIX and _name(file.stem) in done_with]
        gone = sorted(self._gone.union(file.stem for file in ended))
        try:
            write_file(result, RESULT, self._key, stage, {"value": value})
            self._own.add(result)
            write_file(report, RECORD, self._key, stage, {**record, "gone": tuple(gone)})
            self._own.add(report)
        except (OSError, ValueError) as error:  # hours of work are not given up for this
            self._writes = False
            warn(
                f"The checkpoint of the stage {stage!r} cannot be written into {self.path} ({error}). The "
                "fit goes on, and writes no more checkpoints.",
                lasting=False,
            )
            return
        self._gone = set(gone)
        for file in ended:
            file.unlink(missing_ok=True)
            self._own.discard(file)


class StageCheckpoint:
    """The checkpoint of a stage that is about to be run, or need not be.

    Parameters
    ----------
    checkpoints : Checkpoints
        Those of the fit.
    stage : str
        Its place and name.
    """

    def __init__(self, checkpoints: Checkpoints, stage: str) -> None:
        self._all, self.stage, self._model = checkpoints, stage, checkpoints.model
        self.is_behind = checkpoints.is_behind(stage)
        self._before = dict(vars(self._model))
        self._n_told = len(kept_so_far())

    def restore(self) -> tuple[Any, float]:
        """Do to the model what the stage did; return what it returned, and the time it took."""
        record, value = self._all.take(self.stage)
        self._model.__dict__.update(record.attributes)
        for name in record.deleted:
            self._model.__dict__.pop(name, None)
        self._all.random_state.set_state(record.random_state.get_state())
        for kind, text in record.warnings:
            warn(text, _WARNINGS.get(kind, UserWarning))
        return value, record.seconds

    def keep(self, value: Any, seconds: float, done_with: Sequence[str]) -> None:
        """Write what the stage returned, and what it did to the model."""
        after = vars(self._model)
        changed = {name: one for name, one in after.items() if self._before.get(name, _ABSENT) is not one}
        told = kept_so_far()[self._n_told :]
        record = {
            "seconds": seconds,
            "attributes": changed,
            "deleted": tuple(sorted(self._before.keys() - after.keys())),
            "warnings": tuple((one.category.__name__, one.text) for one in told),
            "random_state": self._all.random_state,
        }
        assert record.keys() | {"gone"} == {field.name for field in fields(Record)}
        self._all.write(self.stage, value, record, done_with)


def _number(stage: str) -> int:
    return int(stage.split("-")[0])


def _name(stage: str) -> str:
    return stage.split("-", 1)[1]
