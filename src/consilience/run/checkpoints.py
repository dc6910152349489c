"""The results of the finished stages of a fit, in files, so that a killed fit can go on from there.

A checkpoint keeps what a stage returned, its warnings, the time it took, and the random state after it: all
that later stages can see of it. The folder is named by a digest of everything that the result depends on:
only the same fit finds it. Every record says which stages were finished before it, and which results were
still needed: so a fit goes on after the last stage for which all of that can be read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..io.files import UNFINISHED
from ..io.model_files.errors import ModelFileError
from .checkpoint_files import RECORD, RESULT, Record, read_file, write_file
from .messages import Advice, kept_so_far, warn
from .run_folder import RunFolder

logger = logging.getLogger("consilience")

RECORD_SUFFIX, RESULT_SUFFIX = ".checkpoint", ".result"
_STAGE = re.compile(r"(\d{4})-([\w.]+)")
_WARNINGS = {kind.__name__: kind for kind in (UserWarning, RuntimeWarning, ConvergenceWarning)}


class Checkpoints:
    """The checkpoints of one fit.

    Parameters
    ----------
    folder : Path
        Where to keep them, in a folder of their own.
    key : str
        The digest that names the fit.
    what : str
        The name of the model, for messages.
    random_state : RandomState
        The random generator of the stages.
    unseeded : bool, default=False
        Whether that is NumPy's own generator, which must not be changed when the fit goes on from an
        earlier state.

    Attributes
    ----------
    path : Path
        The folder of this fit.
    random_state : RandomState
        The random generator for the stages.
    """

    def __init__(
        self,
        folder: Path,
        key: str,
        what: str,
        random_state: np.random.RandomState,
        unseeded: bool = False,
    ) -> None:
        self._key, self._what = key, what
        self._folder = RunFolder(folder, f"consilience-{key[:24]}")
        self.path = self._folder.path
        for scratch in self.path.glob(UNFINISHED):
            scratch.unlink()  # of a run that was killed while it wrote
        self._writes = True
        self._records: dict[str, Record] = {}
        self._results: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}  # of the stages that have files, in the order in which they ended
        self._alive: list[str] = []  # stages whose results are still needed
        self._times: dict[str, int] = {}  # how often a stage of a name was begun
        self._find_start()
        self.random_state = np.random.RandomState(0) if unseeded and self._records else random_state

    def stage(self, name: str) -> StageCheckpoint:
        """Return the checkpoint of the next stage of a name."""
        times = self._times.get(name, 0)
        self._times[name] = times + 1
        return StageCheckpoint(self, name if times == 0 else f"{name}.part{times}")

    def last_round(self, name: str) -> tuple[int, StageCheckpoint] | None:
        """Return the last finished round of a loop, and its checkpoint; None if there is none."""
        rounds = [
            int(found[1]) for stage in self._records if (found := re.fullmatch(rf"{name}\.(\d+)", stage))
        ]
        return (max(rounds), StageCheckpoint(self, f"{name}.{max(rounds)}")) if rounds else None

    def remove(self) -> None:
        """Remove the files of this fit: it is finished."""
        for stage in list(self._numbers):
            self._drop(stage)
        self._folder.release()

    def leave(self) -> None:
        """Leave the files of this fit for another run, and say how to go on."""
        if self._numbers:
            logger.warning(
                "%s was stopped; the results of its finished stages are in %s. Start the same fit again with "
                "the same folder for checkpoints, and it goes on from there.",
                self._what,
                self.path,
            )
        self._records, self._results = {}, {}
        self._folder.release()

    # Reading

    def _find_start(self) -> None:
        """Go on after the last stage that has all its files; remove the files of all others."""
        found = self._read_records()
        for stage in sorted(found, key=lambda one: found[one][0], reverse=True):
            record = found[stage][1]
            if all(one in found for one in record.behind) and all(
                self._has_result(one, found[one][0]) for one in record.alive
            ):
                behind = (*record.behind, stage)
                self._records = {one: found[one][1] for one in behind}
                self._numbers = {one: found[one][0] for one in behind}
                self._alive = list(record.alive)
                self._results = {one: self._results[one] for one in record.alive}
                logger.info("going on after the stage %r, from %s", stage, self.path)
                break
        ours = {self._file(stage, RECORD_SUFFIX) for stage in self._records}
        ours |= {self._file(stage, RESULT_SUFFIX) for stage in self._alive}
        for file in self.path.iterdir():
            is_stage = file.suffix in (RECORD_SUFFIX, RESULT_SUFFIX) and _STAGE.fullmatch(file.stem)
            if is_stage and file not in ours:
                file.unlink()

    def _read_records(self) -> dict[str, tuple[int, Record]]:
        """Return the records that can be read, with their numbers."""
        found: dict[str, tuple[int, Record]] = {}
        for file in sorted(self.path.glob(f"*{RECORD_SUFFIX}")):
            named = _STAGE.fullmatch(file.name.removesuffix(RECORD_SUFFIX))
            values = None if named is None else self._read(file, RECORD, named[2])
            if named is not None and values is not None:
                found[named[2]] = int(named[1]), Record(**values)
        return found

    def _has_result(self, stage: str, number: int) -> bool:
        """Read the result of a stage, and say whether it is there."""
        if stage not in self._results:
            file = self.path / f"{number:04d}-{stage}{RESULT_SUFFIX}"
            read = self._read(file, RESULT, stage) if file.exists() else None
            if read is None:
                return False
            self._results[stage] = read["value"]
        return True

    def _read(self, file: Path, kind: Any, stage: str) -> dict[str, Any] | None:
        try:
            return read_file(file, kind, self._key, stage)
        except (ModelFileError, OSError) as error:
            warn(f"The checkpoint {file} cannot be used, its stage is run again: {error}.", lasting=False)
            return None

    def is_behind(self, stage: str) -> bool:
        """Say whether a stage need not be run again."""
        return stage in self._records

    def take(self, stage: str) -> tuple[Record, Any]:
        """Return the record of such a stage, and its result; None if no stage needs the result."""
        return self._records[stage], self._results.pop(stage, None)

    # Writing

    def write(
        self, stage: str, value: Any, record: dict[str, Any], done_with: Sequence[str], inside: str | None
    ) -> None:
        """Write the result and the record of a stage; then remove the results that no stage needs any more.

        Parameters
        ----------
        stage : str
            The stage.
        value : object
            What it returned.
        record : dict
            Everything else about it.
        done_with : sequence of str
            Stages whose results no later stage needs.
        inside : str or None
            The round that ends with this: the results of the stages inside it are not needed any more.
        """
        if not self._writes:
            return
        ended = [one for one in self._alive if _base(one) in done_with]
        gone = [one for one in self._numbers if inside is not None and one.startswith(f"{inside}.")]
        gone += [one for one in ended if inside is not None]  # the round before
        alive = [one for one in self._alive if one not in ended and one not in gone]
        behind = tuple(one for one in self._numbers if one not in gone)
        self._numbers[stage] = max(self._numbers.values(), default=-1) + 1
        try:
            write_file(self._file(stage, RESULT_SUFFIX), RESULT, self._key, stage, {"value": value})
            about = {**record, "behind": behind, "alive": (*alive, stage)}
            write_file(self._file(stage, RECORD_SUFFIX), RECORD, self._key, stage, about)
        except (OSError, ValueError) as error:  # this must not stop a fit that has run for hours
            self._writes = False
            self._file(stage, RESULT_SUFFIX).unlink(missing_ok=True)
            del self._numbers[stage]
            warn(
                f"The checkpoint of the stage {stage!r} cannot be written into {self.path} ({error}). The "
                "fit goes on, and writes no more checkpoints.",
                lasting=False,
            )
            return
        for one in ended:
            self._file(one, RESULT_SUFFIX).unlink(missing_ok=True)
        for one in gone:
            self._drop(one)
        self._alive = [*alive, stage]

    def _file(self, stage: str, suffix: str) -> Path:
        return self.path / f"{self._numbers[stage]:04d}-{stage}{suffix}"

    def _drop(self, stage: str) -> None:
        """Remove all files of a stage."""
        for suffix in (RESULT_SUFFIX, RECORD_SUFFIX):
            self._file(stage, suffix).unlink(missing_ok=True)
        del self._numbers[stage]


class StageCheckpoint:
    """The checkpoint of a stage that will run now, or need not run again.

    Parameters
    ----------
    checkpoints : Checkpoints
        Those of the fit.
    stage : str
        Its name, with its part or round.
    """

    def __init__(self, checkpoints: Checkpoints, stage: str) -> None:
        self._all, self.stage = checkpoints, stage
        self.is_behind = checkpoints.is_behind(stage)
        self._n_warned = len(kept_so_far())

    def restore(self) -> tuple[Any, float]:
        """Warn as the stage did; return what it returned, and the time it took."""
        record, value = self._all.take(self.stage)
        self._all.random_state.set_state(record.random_state.get_state())
        for kind, *parts in record.warnings:
            warn(Advice(*parts), _WARNINGS.get(kind, UserWarning))
        return value, record.seconds

    def keep(self, value: Any, seconds: float, done_with: Sequence[str], inside: str | None = None) -> None:
        """Write what the stage returned; see `Checkpoints.write`."""
        warned = kept_so_far()[self._n_warned :]
        record = {
            "seconds": seconds,
            "warnings": tuple((one.category.__name__, *Advice(one.text).parts) for one in warned),
            "random_state": self._all.random_state,
        }
        self._all.write(self.stage, value, record, done_with, inside)


def _base(stage: str) -> str:
    """Return the name of a stage without its part."""
    return re.sub(r"\.part\d+$", "", stage)
