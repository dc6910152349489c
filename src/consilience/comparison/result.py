"""What a comparison found: every outcome, and tables of scores for statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inspection.fusion_help.agreement import pairwise_ari
from .data_sets import SetFacts
from .fitting import CLEAN, Rules
from .outcome import INTERRUPTED, NOT_RUN, Outcome
from .statistics.score_table import ScoreTable

SCORES = ("NMI", "ACC", "ARI", "purity")

Place = tuple[str, str, bool, str]  # set, condition, whether for the oracle, system


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of all systems on all data sets.

    Attributes
    ----------
    sets : tuple of SetFacts
        The data sets, in the order given; one that did not load has a reason.
    systems : tuple of str
        Names of the systems, in the order given.
    conditions : tuple of str
        "clean" and the corruptions.
    seeds : tuple of int
        Of the fits to clean data.
    corrupted_seeds : tuple of int
        Of the fits to corrupted data; each draws the corruption anew.
    rules : Rules
        What was the same for all.
    outcomes : mapping
        (set, condition, oracle, system) -> Outcome.

    Examples
    --------
    >>> import consilience
    >>> made = consilience.make_multiview(60, n_views=2, n_clusters=3, separation=3.0, random_state=0)
    >>> found = consilience.compare(made.views, "average,dgf", labels=made.y, seeds=2)
    >>> found.score_table().by_seed.shape
    (1, 2, 2)
    """

    sets: tuple[SetFacts, ...]
    systems: tuple[str, ...]
    conditions: tuple[str, ...]
    seeds: tuple[int, ...]
    corrupted_seeds: tuple[int, ...]
    rules: Rules
    outcomes: Mapping[Place, Outcome] = field(repr=False)

    def outcome(
        self, system: str, data: str | None = None, condition: str = CLEAN, *, oracle: bool = False
    ) -> Outcome:
        """Return what a system did on a data set; None: the only, or the first, set."""
        data = self.sets[0].name if data is None else data
        known = {"system": self.systems, "set": [one.name for one in self.sets], "condition": self.conditions}
        for what, name in (("system", system), ("set", data), ("condition", condition)):
            if name not in known[what]:
                raise ValueError(f"There is no {what} {name!r}; there are: {', '.join(known[what])}.")
        return self.outcomes.get((data, condition, oracle, system), Outcome(system))

    def on(self, data: str, condition: str = CLEAN, *, oracle: bool = False) -> tuple[Outcome, ...]:
        """Return the outcomes of all systems on a data set."""
        return tuple(self.outcome(name, data, condition, oracle=oracle) for name in self.systems)

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return any(one.status in (INTERRUPTED, NOT_RUN) for one in self.outcomes.values())

    def having(self, status: str) -> list[str]:
        """Return the systems with a status on any data set."""
        return [
            name
            for name in self.systems
            if any(one.status == status for place, one in self.outcomes.items() if place[3] == name)
        ]

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the bench, such as "tuning" and "validation", in the order of the sets."""
        return tuple(dict.fromkeys(facts.part for facts in self.sets))

    def score_table(
        self,
        score: str = "NMI",
        condition: str = CLEAN,
        *,
        oracle: bool = False,
        part: str | None = None,
        systems: Sequence[str] | None = None,
        n_views: tuple[int, int] | None = None,
    ) -> ScoreTable:
        """Return the scores of systems on the sets that have labels, in percent, one for each seed.

        Parameters
        ----------
        score : {"NMI", "ACC", "ARI", "purity"}, default="NMI"
            Which score. NMI is divided by the larger entropy.
        condition : str, default="clean"
            Which corruption.
        oracle : bool, default=False
            Of the fits that know what was spoiled.
        part : str, default=None
            Only the sets of this part; None: all.
        systems : sequence of str, default=None
            Only these; None: all.
        n_views : tuple of two int, default=None
            Only sets with at least and at most so many views; None: all.
        """
        if score not in SCORES:
            raise ValueError(f"Unknown score {score!r}; known: {', '.join(SCORES)}.")
        names = tuple(self.systems if systems is None else systems)
        chosen = [one for one in self.sets if one.has_labels and part in (None, one.part)]
        if n_views is not None:
            chosen = [one for one in chosen if n_views[0] <= one.n_views <= n_views[1]]
        seeds = self.seeds if condition == CLEAN else self.corrupted_seeds
        values = np.full((len(chosen), len(names), len(seeds)), np.nan)
        for i, facts in enumerate(chosen):
            for j, name in enumerate(names):
                one = self.outcome(name, facts.name, condition, oracle=oracle)
                if one.status == INTERRUPTED:  # some of its seeds would look like all
                    continue
                for seed, scores in zip(one.seeds, one.scores, strict=False):
                    if seed in seeds:
                        values[i, j, seeds.index(seed)] = 100 * scores[score]
        return ScoreTable(
            names, tuple(one.name for one in chosen), tuple(one.family for one in chosen), values
        )

    @cached_property
    def agreements(self) -> dict[str, tuple[list[str], NDArray[np.float64]]]:
        """For each data set the systems that gave labels, and the ARI of each with each."""
        found = {}
        for facts in self.sets:
            labelled = [one for one in self.on(facts.name) if one.labels is not None]
            labels = [one.labels for one in labelled if one.labels is not None]
            found[facts.name] = [one.name for one in labelled], pairwise_ari(labels)
        return found

    def mean_agreement(self, system: str, data: str | None = None) -> float | None:
        """Mean agreement of a system's labels with those of the others, or None if there is nothing."""
        names, matrix = self.agreements[self.sets[0].name if data is None else data]
        if system not in names or len(names) < 2:
            return None
        i = names.index(system)
        return float(np.delete(matrix[i], i).mean())

    def rows(self) -> Iterable[dict[str, Any]]:
        """Yield one row for each set, condition, system and seed: all scores, for tables of one's own."""
        for (data, condition, oracle, name), one in self.outcomes.items():
            facts = next(facts for facts in self.sets if facts.name == data)
            place = {
                "set": data,
                "part": facts.part,
                "family": facts.family,
                "condition": condition,
                "oracle": oracle,
                "system": name,
            }
            figures = {"seconds": one.seconds, "megabytes": one.megabytes}
            if not one.seeds:
                yield {**place, "seed": None, "status": one.status, "reason": one.reason}
            for i, seed in enumerate(one.seeds):
                scores = one.scores[i] if i < len(one.scores) else {}
                timed = figures if i == 0 else {}
                yield {**place, "seed": seed, "status": one.status, "reason": "", **scores, **timed}

    def write(self, folder: str | Path, *, force: bool = False, reference: str | None = None) -> Path:
        """Write tables (CSV, Markdown, LaTeX), figures (SVG) and one page into a folder.

        Parameters
        ----------
        folder : str or path
            Where to; made if it is not there.
        force : bool, default=False
            Whether to overwrite files in a folder that holds something.
        reference : str, default=None
            The system that the others are compared with; None: "Average" if it is there, else the first.

        Returns
        -------
        Path
            The folder.
        """
        from ..pages.bench import write_comparison  # only now: pages are loaded when one is asked for

        return write_comparison(self, Path(folder), force=force, reference=reference)
