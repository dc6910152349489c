"""The experiments of the paper: which pieces of work each needs, and the rows that result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .definitions import Paper, Point
from .plan import Plan
from .store import Store, Work, failures

Row = dict[str, Any]
MANY_NEIGHBORS = 20  # the authors' program's own default, in addition to the 6 of the paper


@dataclass(frozen=True)
class Experiment:
    """One experiment.

    Attributes
    ----------
    name, title : str
        On the command line, and for people.
    stages : tuple of callables
        (plan, store) -> work; each stage may look at the results of those before.
    rows : callable
        (plan, store) -> the table.
    timed : bool
        Whether times are measured, so that nothing else should run meanwhile.
    """

    name: str
    title: str
    stages: tuple[Callable[[Plan, Store], list[Work]], ...]
    rows: Callable[[Plan, Store], list[Row]]
    timed: bool = False


def _summary(rows: Sequence[Row], metrics: Sequence[str]) -> Row:
    """Return means and standard deviations over runs; None, and the reason, if there are none."""
    found: Row = {"reason": "; ".join(dict.fromkeys(failures(rows)))}
    for metric in metrics:
        values = np.array([row[metric] for row in rows if metric in row])
        found[metric] = float(values.mean()) if len(values) else None
        found[f"{metric}_std"] = float(values.std(ddof=min(1, len(values) - 1))) if len(values) else None
    return found


def _with_printed_scores(plan: Plan, data: str, system: str, found: Row) -> Row:
    """Return a row of scores with what the paper prints for each, and the difference."""
    row: Row = {"set": data, "system": system, "reason": found["reason"]}
    for metric in plan.paper.experiments.metrics:
        printed = plan.paper.score(data, system, metric)
        row[metric], row[f"{metric}_std"] = found[metric], found[f"{metric}_std"]
        row[f"{metric}_paper"] = None if printed is None else printed.mean
        row[f"{metric}_difference"] = _difference(found[metric], None if printed is None else printed.mean)
    return row


def _difference(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs


def _tuned(systems: Callable[[Paper], Sequence[str]]) -> tuple[Callable[[Plan, Store], list[Work]], ...]:
    """Return the two stages of a search: the grid, and the runs at the best point."""

    def search(plan: Plan, store: Store) -> list[Work]:
        return [
            work
            for data, name in product(plan.sets, systems(plan.paper))
            for work in plan.grid_work(data, name)
        ]

    def runs(plan: Plan, store: Store) -> list[Work]:
        return [
            plan.runs_at_best(store, data, name) for data, name in product(plan.sets, systems(plan.paper))
        ]

    return search, runs


def _tuned_rows(plan: Plan, store: Store, systems: Sequence[str]) -> Iterator[Row]:
    for data, name in product(plan.sets, systems):
        runs = store.get(plan.runs_at_best(store, data, name))
        found = _summary(runs, plan.paper.experiments.metrics)
        best = plan.best(store, data, name)
        yield {**_with_printed_scores(plan, data, name, found), "parameters": best, "seeds": list(plan.seeds)}


def _score_rows(plan: Plan, store: Store) -> list[Row]:
    return list(_tuned_rows(plan, store, plan.paper.tables["scores"]))


def _revisions(paper: Paper) -> dict[str, str]:
    return {name: system.revises for name, system in paper.systems.items() if system.revises}


def _versions(paper: Paper) -> list[str]:
    return [name for pair in _revisions(paper).items() for name in pair]


def _rows_2019(plan: Plan, store: Store) -> list[Row]:
    rows = {(row["set"], row["system"]): row for row in _tuned_rows(plan, store, _versions(plan.paper))}
    for (data, name), row in rows.items():
        old = _revisions(plan.paper).get(name)
        for metric in plan.paper.experiments.metrics:
            row[f"{metric}_gain"] = None if old is None else _difference(row[metric], rows[data, old][metric])
    return list(rows.values())


def _grids(plan: Plan, store: Store) -> list[Work]:
    return [
        work
        for data, name in product(plan.sets, _revisions(plan.paper))
        for work in plan.grid_work(data, name)
    ]


def _sensitivity_rows(plan: Plan, store: Store) -> list[Row]:
    columns = ("beta", "gamma", *plan.paper.experiments.metrics, "rounds")
    rows = []
    for data, name in product(plan.sets, _revisions(plan.paper)):
        for found in (row for work in plan.grid_work(data, name) for row in store.get(work)):
            row = {"set": data, "system": name, "reason": found.get("reason", "")}
            row |= {column: found.get(column) for column in columns}
            if not row["reason"]:
                row["inconsistent"] = float(
                    np.mean([share for share in found["inconsistent"] if share is not None])
                )
                row["largest_contribution"] = max(found["contributions"])
            rows.append({**row, "seeds": list(plan.seeds[:1])})
    return rows


def _point(point: Point) -> dict[str, float]:
    return {"beta": point.beta, "gamma": point.gamma}


def _untuned(plan: Plan, data: str, name: str, **changes: Any) -> Work:
    return plan.fits(data, name, [_point(plan.paper.experiments.no_tuning.point)], plan.seeds, **changes)


def _no_tuning_work(plan: Plan, store: Store) -> list[Work]:
    names = plan.paper.experiments.no_tuning.systems
    return [
        _untuned(plan, data, name, n_neighbors=k)
        for data, name, k in product(
            plan.sets, names, (plan.paper.experiments.arguments["n_neighbors"], MANY_NEIGHBORS)
        )
    ]


def _no_tuning_rows(plan: Plan, store: Store) -> list[Row]:
    rows = []
    point = plan.paper.experiments.no_tuning.point
    for work in _no_tuning_work(plan, store):
        runs = store.get(work)
        rows.append(
            {
                **_with_printed_scores(
                    plan, work.data, work.arguments["system"], _summary(runs, plan.paper.experiments.metrics)
                ),
                "paper_is": "tuned",  # the paper prints no table without tuning
                "n_neighbors": work.arguments["arguments"]["n_neighbors"],
                "parameters": _point(point),
                "scales": runs[0].get("scales"),
                "inconsistent": runs[0].get("inconsistent"),
                "seeds": list(plan.seeds),
            }
        )
    return rows


def _times_work(plan: Plan, store: Store) -> list[Work]:
    pieces = []
    for data, name in product(plan.sets, plan.paper.tables["times"]):
        system = plan.paper.systems[name]
        point: dict[str, Any] = {}
        if "gamma" in system.tuned:
            point = _point(plan.paper.experiments.no_tuning.point)
        elif system.rule == "best_view":
            point = {"view": 0}
        arguments = {
            "system": name,
            "arguments": plan.arguments(name),
            "point": point,
            "n_repeats": plan.n_repeats,
        }
        pieces.append(Work("times", data, arguments, plan.seconds(data, name)))
    return pieces


def _times_rows(plan: Plan, store: Store) -> list[Row]:
    rows: list[Row] = []
    for work in _times_work(plan, store):
        name, found = work.arguments["system"], store.get(work)
        printed = plan.paper.seconds(work.data, name)
        seconds, stages = found.get("seconds"), found.get("stages", {})
        rows.append(
            {
                "set": work.data,
                "system": name,
                "reason": found.get("reason", ""),
                "seconds": float(np.median(seconds)) if seconds else None,
                "seconds_std": float(np.std(seconds, ddof=min(1, len(seconds) - 1))) if seconds else None,
                "paper": None if printed is None else printed.mean,
                "stages": {stage: value / sum(stages.values()) for stage, value in stages.items()},
                "parameters": work.arguments["point"],
                "seeds": [0],
            }
        )
    for row in rows:
        # One view is no rival: it is there to compare with.
        rivals = [other for other in rows if other["set"] == row["set"] and other["system"] != "SC"]
        for ours, ratio in (("seconds", "ratio_to_fastest"), ("paper", "paper_ratio_to_fastest")):
            known = [other[ours] for other in rivals if other[ours]]
            row[ratio] = row[ours] / min(known) if row[ours] and known else None
    return rows


def _convergence_work(plan: Plan, store: Store) -> list[Work]:
    settings = plan.paper.experiments.convergence
    return [
        Work(
            "convergence",
            data,
            {
                "system": name,
                "arguments": {
                    k: v for k, v in plan.arguments(name).items() if k not in ("solver", "tol", "max_iter")
                },
                "point": _point(point),
                "solver": solver,
                "n_rounds": settings.n_rounds,
            },
            plan.paper.sets[data].n_samples * 1e-3,
        )
        for data, name, point, solver in product(
            plan.sets, settings.systems, settings.points, ("dca", "exact")
        )
    ]


def _convergence_rows(plan: Plan, store: Store) -> list[Row]:
    rows = []
    for work in _convergence_work(plan, store):
        found = store.get(work)
        given = {key: work.arguments[key] for key in ("system", "solver")}
        for number, objective in enumerate(found["history"]):
            rows.append(
                {
                    "set": work.data,
                    **given,
                    **work.arguments["point"],
                    "round": number,
                    "objective": objective,
                    "stopped_at": found["stopped"],
                    "seeds": [0],
                }
            )
    return rows


def _complexity_work(plan: Plan, store: Store) -> list[Work]:
    settings = plan.paper.experiments.complexity
    return [
        Work(
            "complexity",
            "",
            {
                **size,
                "point": _point(settings.point),
                "n_rounds": settings.n_rounds,
                "n_repeats": settings.n_repeats,
            },
            size["k"] * size["n"] * size["v"] * 1e-6,
        )
        for factor in settings.factors
        for size in factor.sizes
    ]


def _complexity_rows(plan: Plan, store: Store) -> list[Row]:
    rows = []
    works = iter(_complexity_work(plan, store))
    for factor in plan.paper.experiments.complexity.factors:
        here = []
        for size in factor.sizes:
            seconds = min(store.get(next(works))["seconds"])
            here.append(
                {
                    "factor": factor.name,
                    **size,
                    "seconds": seconds,
                    "paper_exponent": factor.exponent,
                    "seeds": [0],
                }
            )
        slope, spread = _exponent([row[factor.name] for row in here], [row["seconds"] for row in here])
        rows += [{**row, "exponent": slope, "exponent_error": spread} for row in here]
    return rows


def _exponent(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the logarithms, and its standard error."""
    x, y = np.log(sizes), np.log(seconds)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    residual = y - y.mean() - slope * x
    return slope, float(np.sqrt(residual @ residual / max(len(x) - 2, 1) / (x @ x)))


def _affinity_work(plan: Plan, store: Store) -> list[Work]:
    settings = plan.paper.experiments.affinity
    if settings.set not in plan.sets:
        return []
    arguments = {
        "system": settings.system,
        "arguments": plan.arguments(settings.system, n_neighbors=settings.n_neighbors),
        "point": _point(settings.point),
        "view_features": list(settings.view_features),
    }
    return [Work("affinity", settings.set, arguments)]


def _affinity_rows(plan: Plan, store: Store) -> list[Row]:
    return [
        {"set": work.data, **picture, "seeds": [0]}
        for work in _affinity_work(plan, store)
        for picture in store.get(work)
    ]


def _eigengap_work(plan: Plan, store: Store) -> list[Work]:
    settings = plan.paper.experiments.no_tuning
    arguments = {
        "arguments": plan.arguments("SGF"),
        "point": _point(settings.point),
        "n_repeats": plan.n_repeats,
    }
    return [Work("eigengaps", data, arguments, plan.paper.sets[data].n_samples * 1e-3) for data in plan.sets]


def _eigengap_rows(plan: Plan, store: Store) -> list[Row]:
    return [
        {"set": work.data, **row, "seeds": [0]}
        for work in _eigengap_work(plan, store)
        for row in store.get(work)
    ]


EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        Experiment("scores", "Scores", _tuned(lambda paper: paper.tables["scores"]), _score_rows),
        Experiment("times", "Running times", (_times_work,), _times_rows, timed=True),
        Experiment("sensitivity", "Sensitivity to beta and gamma", (_grids,), _sensitivity_rows),
        Experiment("convergence", "Convergence", (_convergence_work,), _convergence_rows),
        Experiment(
            "complexity", "Growth of the fusion time", (_complexity_work,), _complexity_rows, timed=True
        ),
        Experiment("affinity", "Affinity matrices", (_affinity_work,), _affinity_rows),
        Experiment("no-tuning", "Without tuning", (_no_tuning_work,), _no_tuning_rows),
        Experiment("2019", "Compared with the versions of 2019", _tuned(_versions), _rows_2019),
        Experiment("eigengaps", "Eigengaps", (_eigengap_work,), _eigengap_rows, timed=True),
    )
}
