"""The paper's experiments as data: sets, systems, settings, claims, and the figures that it prints.

All of it is read from files: ``sets.toml``, ``systems.toml``, ``experiments.toml``, ``printed_scores.csv``,
``printed_times.csv``. In a checkout they are in ``benchmarks/paper``; an installed package has its own copy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..models import PAPER
from .checking import check_keys, check_known, check_positive, check_unique, checked, read_cells, read_toml

METRICS = ("euclidean", "cosine", "precomputed_distance")
PRESETS: dict[str, Mapping[str, Any]] = {"": {}, "PAPER": PAPER}
RULES = ("", "best_view")
TABLES = ("scores", "times")


@dataclass(frozen=True)
class PaperSet:
    """A data set: the stem of its file, its name in print, its shape, its metric, and where it is from."""

    name: str
    title: str
    n_samples: int
    n_views: int
    n_classes: int
    metric: str
    source: str
    url: str = ""
    in_paper: bool = True

    def __post_init__(self) -> None:
        check_positive(n_samples=self.n_samples, n_views=self.n_views, n_classes=self.n_classes)
        check_known([self.metric], METRICS, "unknown metric")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of samples, views and classes."""
        return self.n_samples, self.n_views, self.n_classes

    @property
    def where(self) -> str:
        """Where to get it."""
        return f"{self.source}, {self.url}" if self.url else self.source


def shape_text(n_samples: int, n_views: int, n_classes: int) -> str:
    """Return the shape of a set in words."""
    return f"{n_samples} samples, {n_views} views, {n_classes} classes"


@dataclass(frozen=True)
class PaperSystem:
    """A system: its short name, its name in print, what is tuned, and what is fixed.

    `n_init` are the restarts of its k-means, None if it has none. `rule` is "best_view" if every view is
    clustered by itself and the best by the labels is reported.
    """

    name: str
    title: str
    tuned: tuple[str, ...]
    n_init: int | str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    rule: str = ""
    revises: str = ""

    def __post_init__(self) -> None:
        check_known([self.preset], PRESETS, "unknown preset")
        check_known([self.rule], RULES, "unknown rule")
        if self.tuned:
            check_unique("tuned", self.tuned)
        both = [name for name in self.tuned if name in self.fixed]
        if both:
            raise ValueError(f"{both[0]!r} is both tuned and fixed.")

    @property
    def fixed(self) -> dict[str, Any]:
        """What does not vary, ready for JSON: the preset, its own arguments on top, and `n_init`."""
        preset = {name: value for name, value in PRESETS[self.preset].items() if name != "assign_labels"}
        restarts = {} if self.n_init is None else {"n_init": self.n_init}
        return {**preset, **self.arguments, **restarts}


@dataclass(frozen=True)
class Printed:
    """A cell of a table: mean and standard deviation, in percent or in seconds."""

    mean: float
    std: float


@dataclass(frozen=True)
class Point:
    """Parameters of SGF and DGF."""

    beta: float
    gamma: float


@dataclass(frozen=True)
class Grid:
    """Powers of ten for each tuned parameter, and the score whose highest value selects the point."""

    exponents: tuple[int, ...]
    select_by: str = "NMI"

    def __post_init__(self) -> None:
        check_unique("exponents", self.exponents)

    @property
    def values(self) -> tuple[float, ...]:
        """The values of one parameter.

        Examples
        --------
        >>> Grid((-2, 0, 2)).values
        (0.01, 1.0, 100.0)
        """
        return tuple(float(f"1e{exponent}") for exponent in self.exponents)


@dataclass(frozen=True)
class NoTuning:
    """One point for all data sets."""

    systems: tuple[str, ...]
    point: Point


@dataclass(frozen=True)
class Affinity:
    """Affinity matrices of some views of a set, known by their numbers of features, and of their fusion."""

    set: str
    system: str
    view_features: tuple[int, ...]
    n_neighbors: int
    point: Point

    def __post_init__(self) -> None:
        check_unique("view_features", self.view_features)
        check_positive(n_neighbors=self.n_neighbors)


@dataclass(frozen=True)
class Convergence:
    """The objective round by round."""

    systems: tuple[str, ...]
    n_rounds: int
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        check_positive(n_rounds=self.n_rounds)
        check_unique("points", self.points)


@dataclass(frozen=True)
class Factor:
    """What the time of graph learning is said to grow with: k, n or v; the values of the other two."""

    name: str
    title: str
    values: tuple[int, ...]
    fixed: Mapping[str, Any]
    exponent: float

    def __post_init__(self) -> None:
        if sorted([self.name, *self.fixed]) != ["k", "n", "v"]:
            raise ValueError(f"it must vary one of k, n, v and fix two, got {[self.name, *self.fixed]}.")
        check_unique("values", self.values)
        for value in (*self.values, *self.fixed.values()):
            check_positive(**{"every value": value})

    @property
    def sizes(self) -> tuple[dict[str, int], ...]:
        """k, n and v of every problem, smallest first."""
        return tuple({**self.fixed, self.name: value} for value in sorted(self.values))


@dataclass(frozen=True)
class Complexity:
    """The time of graph learning in each of three factors."""

    point: Point
    n_rounds: int
    n_repeats: int
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        check_positive(n_rounds=self.n_rounds, n_repeats=self.n_repeats)
        check_unique("factors", [factor.name for factor in self.factors])


@dataclass(frozen=True)
class Quick:
    """The short version."""

    sets: tuple[str, ...]
    exponents: tuple[int, ...]
    n_runs: int

    def __post_init__(self) -> None:
        check_positive(n_runs=self.n_runs)
        check_unique("sets", self.sets)
        check_unique("exponents", self.exponents)

    @property
    def grid(self) -> Grid:
        """Its grid."""
        return Grid(self.exponents)


@dataclass(frozen=True)
class Claim:
    """What the paper claims, in our words, and under which of its headings."""

    id: str
    text: str
    where: str


@dataclass(frozen=True)
class Experiments:
    """Settings of all experiments; `arguments` are given to every system."""

    n_runs: int
    metrics: tuple[str, ...]
    nmi_average: str
    arguments: Mapping[str, Any]
    grid: Grid
    no_tuning: NoTuning
    affinity: Affinity
    convergence: Convergence
    complexity: Complexity
    quick: Quick
    claims: tuple[Claim, ...]

    def __post_init__(self) -> None:
        check_positive(n_runs=self.n_runs)
        check_unique("metrics", self.metrics)
        check_unique("claims", [claim.id for claim in self.claims])
        check_known([self.grid.select_by], self.metrics, "grid: select_by names the unknown score")


@dataclass(frozen=True, eq=False)
class Paper:
    """All definitions.

    Attributes
    ----------
    folder : Path
        Where they were read.
    sets, systems : mapping
        By name, in the order of the paper's tables; sets of our own are last.
    tables : mapping of str to tuple of str
        "scores" and "times" -> the systems in its columns.
    experiments : Experiments
        How they are run.
    all_sets : str
        Where the paper says that all of its data sets are.
    scores : mapping
        (set, system, metric) -> what is printed, in percent.
    times : mapping
        (set, system) -> what is printed, in seconds.
    """

    folder: Path
    sets: Mapping[str, PaperSet]
    systems: Mapping[str, PaperSystem]
    tables: Mapping[str, tuple[str, ...]]
    experiments: Experiments
    all_sets: str
    scores: Mapping[tuple[str, ...], Printed]
    times: Mapping[tuple[str, ...], Printed]

    @property
    def claims(self) -> dict[str, Claim]:
        """What the paper claims, by id."""
        return {claim.id: claim for claim in self.experiments.claims}

    def score(self, set_name: str, system: str, metric: str) -> Printed | None:
        """Return what the paper prints for a score, in percent; None if it prints nothing."""
        return self.scores.get((set_name, system, metric))

    def seconds(self, set_name: str, system: str) -> Printed | None:
        """Return what the paper prints for the running time; None if it prints nothing."""
        return self.times.get((set_name, system))


def load_paper(folder: Path | None = None) -> Paper:
    """Read the definitions of the paper's experiments.

    Parameters
    ----------
    folder : Path, optional
        Where the files are; by default those that belong to the package.

    Returns
    -------
    Paper

    Raises
    ------
    ValueError
        If a file is absent, or an entry in it is wrong: one line with the file and the entry.

    Examples
    --------
    >>> from consilience.reproduction.definitions import load_paper
    >>> paper = load_paper()
    >>> paper.score("UCI_Digits", "DGF", "NMI")
    Printed(mean=95.77, std=0.0)
    """
    folder = _own_folder() if folder is None else Path(folder)
    path = folder / "sets.toml"
    content = read_toml(path)
    check_keys(content, ("sets", "all_sets"), ("sets", "all_sets"), str(path))
    sets = _by_name(PaperSet, content["sets"], f"{path}, sets")
    all_sets = checked(content["all_sets"], str, f"{path}, all_sets")
    systems, tables = _read_systems(folder / "systems.toml")
    experiments = _read_experiments(folder / "experiments.toml", sets, systems)
    in_paper = [name for name, one in sets.items() if one.in_paper]
    scores = read_cells(
        folder / "printed_scores.csv",
        {"set": in_paper, "system": tables["scores"], "metric": experiments.metrics},
        "mean",
    )
    times = read_cells(folder / "printed_times.csv", {"set": in_paper, "system": tables["times"]}, "seconds")
    return Paper(
        folder=folder,
        sets=sets,
        systems=systems,
        tables=tables,
        experiments=experiments,
        all_sets=all_sets,
        scores={cell: Printed(*values) for cell, values in scores.items()},
        times={cell: Printed(*values) for cell, values in times.items()},
    )


def _own_folder() -> Path:
    here = Path(__file__).resolve()
    candidates = [here.parent / "paper", here.parents[3] / "benchmarks" / "paper"]
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise ValueError(
        f"The definitions of the paper's experiments are neither in {candidates[0]} nor in {candidates[1]}: "
        "install the package again, or run from a whole checkout."
    )


def _by_name(kind: Any, entries: Any, place: str) -> dict[str, Any]:
    """Return a file's list of tables as data classes by name, each name once."""
    if not isinstance(entries, list):
        raise ValueError(f"{place}: it must be a list of tables, got {entries!r}.")
    found: dict[str, Any] = {}
    for i, entry in enumerate(entries, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        one = checked(entry, kind, f"{place}, entry {i if name is None else repr(name)}")
        if one.name in found:
            raise ValueError(f"{place}, entry {name!r}: there are two of this name.")
        found[one.name] = one
    return found


def _read_systems(path: Path) -> tuple[dict[str, PaperSystem], dict[str, tuple[str, ...]]]:
    content = read_toml(path)
    check_keys(content, ("systems", "tables"), ("systems", "tables"), str(path))
    systems = _by_name(PaperSystem, content["systems"], f"{path}, systems")
    for system in systems.values():
        revised = [system.revises] if system.revises else []
        check_known(revised, systems, f"{path}, systems, entry {system.name!r}: it revises the unknown")
    check_keys(content["tables"], TABLES, TABLES, f"{path}, tables")
    tables = {}
    for name, columns in content["tables"].items():
        place = f"{path}, tables, {name}"
        tables[name] = checked(columns, tuple[str, ...], place)
        check_known(tables[name], systems, f"{place}: unknown system")
        check_unique(f"{place}: it", tables[name])
    return systems, tables


def _read_experiments(path: Path, sets: Collection[str], systems: Collection[str]) -> Experiments:
    found: Experiments = checked(read_toml(path), Experiments, str(path))
    check_known(found.quick.sets, sets, f"{path}, quick: unknown set")
    check_known([found.affinity.set], sets, f"{path}, affinity: unknown set")
    check_known([found.affinity.system], systems, f"{path}, affinity: unknown system")
    check_known(found.no_tuning.systems, systems, f"{path}, no_tuning: unknown system")
    check_known(found.convergence.systems, systems, f"{path}, convergence: unknown system")
    return found
