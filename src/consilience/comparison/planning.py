"""All fits of a comparison: which there are, which are still to be made, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .contenders import Contender, content_digest
from .data_sets import SetFacts
from .fitting import CLEAN, Piece, Rules, Task, failure
from .outcome import Outcome
from .result import Comparison, Place
from .store import Store, key_of
from .workers import Limits

# Corruptions of which nothing is left for one who knows them: the views are as they were.
ORACLE_IS_CLEAN = (
    "noise-1:1",
    "noise-2:1",
    "copies",
    "rescaled-columns",
    "huge-columns",
    "missing-10",
    "missing-30",
)


class Plan:
    """All fits of a comparison."""

    def __init__(
        self,
        sets: list[SetFacts],
        contenders: list[Contender],
        rules: Rules,
        conditions: tuple[str, ...],
        spoiled: set[str],
        seeds: tuple[int, ...],
        corrupted_seeds: tuple[int, ...],
    ) -> None:
        self.sets, self.contenders, self.rules = sets, contenders, rules
        self.metric = rules.metric if isinstance(rules.metric, str) else content_digest(rules.metric)
        self.conditions, self.spoiled = conditions, spoiled
        self.seeds, self.corrupted_seeds = seeds, corrupted_seeds

    def key(self, piece: Piece, task: Task) -> str:
        """Return what the result of a fit is found by."""
        rules, contender = self.rules, self.contenders[piece.contender]
        common = [rules.preparation, self.metric, rules.n_neighbors, rules.shuffle]
        if task.kind == "resample":
            common.append(rules.first_seed)
        place = [self.sets[piece.data].fingerprint, piece.condition, piece.oracle, contender.identity]
        return key_of(place, common, task.kind, task.number)

    def pieces(self) -> list[Piece]:
        """Return all pieces, the largest data sets first."""
        found = []
        order = sorted(range(len(self.sets)), key=lambda i: -self.sets[i].n_samples)
        for i in order:
            if self.sets[i].reason:
                continue
            for condition in self.conditions:
                for oracle in (False, True):
                    if oracle and (condition == CLEAN or condition in ORACLE_IS_CLEAN):
                        continue
                    for j, contender in enumerate(self.contenders):
                        if condition == CLEAN or contender.name in self.spoiled:
                            found.append(Piece(i, j, condition, oracle, self.tasks(condition)))
        return found

    def tasks(self, condition: str) -> tuple[Task, ...]:
        """Return the fits of a piece."""
        if condition != CLEAN:
            return tuple(Task("seed", seed) for seed in self.corrupted_seeds)
        resamples = [Task("resample", i) for i in range(self.rules.n_resamples)]
        return (*(Task("seed", seed) for seed in self.seeds), *resamples)

    def missing(self, store: Store, limits: Limits) -> list[Piece]:
        """Return the pieces that are to be done, with the fits that the store does not have."""
        found = []
        for piece in self.pieces():
            contender, records = self.contenders[piece.contender], {}
            for task in piece.tasks:
                record = store.get(self.key(piece, task))
                if record is None and contender.reason:
                    record = failure(contender.reason)
                    store.put(self.key(piece, task), record)
                if record is not None and not _is_worth_another_try(record, limits):
                    records[task] = record
            left = tuple(task for task in piece.tasks if task not in records)
            first = records.get(piece.tasks[0], {})
            if left:
                found.append(
                    Piece(
                        piece.data, piece.contender, piece.condition, piece.oracle, left, first.get("labels")
                    )
                )
        return found

    def result(self, store: Store) -> Comparison:
        """Return what the store has of this comparison."""
        outcomes: dict[Place, Outcome] = {}
        for piece in self.pieces():
            facts, contender = self.sets[piece.data], self.contenders[piece.contender]
            records = {task: store.get(self.key(piece, task)) for task in piece.tasks}
            one = Outcome.of(contender.name, contender.class_name, piece.tasks, records)
            outcomes[facts.name, piece.condition, piece.oracle, contender.name] = one
        for facts in self.sets:
            for contender in self.contenders:
                if facts.reason:
                    place = facts.name, CLEAN, False, contender.name
                    outcomes[place] = Outcome(contender.name, contender.class_name, "failed", facts.reason)
                    continue
                for condition in self.conditions:
                    if condition in ORACLE_IS_CLEAN and contender.name in self.spoiled:
                        clean = outcomes[facts.name, CLEAN, False, contender.name]
                        outcomes[facts.name, condition, True, contender.name] = clean
        return Comparison(
            tuple(self.sets),
            tuple(one.name for one in self.contenders),
            self.conditions,
            self.seeds,
            self.corrupted_seeds,
            self.rules,
            outcomes,
        )


def _is_worth_another_try(record: Mapping[str, Any], limits: Limits) -> bool:
    """Say whether a fit failed for a reason that may be gone, or at a limit that is higher now."""
    if record.get("again"):
        return True
    limit = record.get("limit") or {}
    seconds, n_bytes = limit.get("seconds"), limit.get("n_bytes")
    longer = seconds is not None and (limits.seconds is None or limits.seconds > seconds)
    larger = n_bytes is not None and (limits.n_bytes is None or limits.n_bytes > n_bytes)
    return longer or larger
