"""Many systems on many data sets: the tables, figures and sentences that people cite."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from ..words import counted, decimal, listed, signed
from .figures.dot_diagrams import dot_intervals
from .figures.picture import Panel
from .figures.rank_diagrams import critical_difference_diagram, score_table_map
from .fitting import CLEAN
from .formats import Cell, Table
from .outcome import FAILED, INTERRUPTED, NOT_RUN
from .result import Comparison
from .statistics.differences import mean_difference, win_tie_loss
from .statistics.paired_tests import reference_tests
from .statistics.rank_tests import RankGroups, friedman, mean_ranks, rank_groups
from .statistics.score_table import CompleteBlock, ScoreTable, complete_block, mean_scores
from .statistics.spreads import system_spreads

MARGIN = 0.5  # points within which two systems tie on a data set
ENOUGH = 6  # families from which on intervals are put into words; with fewer they are too narrow
BASELINE = "Average"


def reference_of(comparison: Comparison, reference: str | None = None) -> str:
    """Return the system that the others are compared with: the one named, "Average", or the first."""
    if reference is not None:
        known = {name.casefold(): name for name in comparison.systems}
        if reference.casefold() not in known:
            raise ValueError(f"No system is named {reference!r}; there are {', '.join(comparison.systems)}.")
        return known[reference.casefold()]
    return BASELINE if BASELINE in comparison.systems else comparison.systems[0]


@dataclass(frozen=True, eq=False)
class Overview:
    """The systems on the clean sets of a part: one block of figures.

    Attributes
    ----------
    part : str or None
        Which part, such as "validation"; None: all sets.
    score : str
        Which score.
    reference : str
        Whom the others are compared with.
    scores : ScoreTable
        All scores.
    block : CompleteBlock
        Those of the systems that ran on most sets, on the sets that all of these ran on: for ranks and tests.
    groups : RankGroups or None
        Their mean ranks, and who cannot be told apart.
    means, sets : Table
        A row for each system; a row for each data set.
    figures : dict of str to Panel
        Pictures by name.
    sentences : tuple of str
        What they show.
    """

    part: str | None
    score: str
    reference: str
    scores: ScoreTable
    block: CompleteBlock
    groups: RankGroups | None
    means: Table
    sets: Table
    figures: dict[str, Panel]
    sentences: tuple[str, ...]


def overview(
    comparison: Comparison, part: str | None = None, *, reference: str | None = None, score: str = "NMI"
) -> Overview:
    """Return tables, figures and statistics of the clean sets of a part; None: of all.

    Examples
    --------
    >>> import consilience
    >>> from consilience.comparison import DataSet
    >>> def data(i):
    ...     made = consilience.make_multiview(60, n_views=2, n_clusters=3, separation=2.0, random_state=i)
    ...     return DataSet(f"blobs {i}", made.views, made.y)
    >>> found = consilience.compare([data(i) for i in range(3)], "average,dgf", seeds=1)
    >>> overview(found).scores.means.shape
    (3, 2)
    """
    base = reference_of(comparison, reference)
    scores = comparison.score_table(score, part=part)
    block = complete_block(scores)
    testable = len(block.table.systems) > 1 and len(block.table.sets) > 1
    groups = rank_groups(block.table) if testable else None
    figures = {}
    if groups is not None and not groups.reason:
        figures["critical-difference"] = critical_difference_diagram(
            groups.mean_ranks, groups.systems, groups.cliques
        )
        differences = [
            one
            for name in scores.systems
            if name != base
            and (one := mean_difference(scores, name, base)).low is not None
            and one.n_families >= ENOUGH  # with fewer, intervals are too narrow to be shown as findings
        ]
        if differences:
            figures["differences"] = dot_intervals(differences)
    if scores.sets:
        figures["scores"] = score_table_map(scores, reasons_of(comparison))
    means = means_table(comparison, scores, block, base, score)
    return Overview(
        part,
        score,
        base,
        scores,
        block,
        groups,
        means,
        sets_table(comparison, scores, score),
        figures,
        tuple(_sentences(scores, block, groups, base, score)),
    )


def reasons_of(comparison: Comparison, condition: str = CLEAN) -> dict[tuple[str, str], str]:
    """Return why cells are empty: (set, system) -> reason."""
    return {
        (data, name): one.reason or one.status
        for (data, which, oracle, name), one in comparison.outcomes.items()
        if which == condition and not oracle and not one.scores
    }


def means_table(
    comparison: Comparison, scores: ScoreTable, block: CompleteBlock, reference: str, score: str
) -> Table:
    """Return one row for each system: means, rank, against the reference, spreads, seconds."""
    ranks = dict(zip(block.table.systems, mean_ranks(block.table), strict=True)) if block.table.sets else {}
    tests = {one.first: one for one in reference_tests(scores, reference)}
    counts = {one.system: one for one in win_tie_loss(scores, reference, MARGIN)}
    spreads = {one.system: one for one in system_spreads(scores)}
    rows = []
    for one in mean_scores(scores):
        name = one.system
        row: list[Cell | str | int | float | None] = [name]
        row += [one.own.over_sets, one.own.n_sets, one.own.over_families]
        row += [None if one.common is None else one.common.over_sets]
        row += [Cell(ranks[name], decimal(ranks[name], 2)) if name in ranks else None]
        row += _against(scores, name, reference, counts.get(name), tests.get(name))
        row += [spreads[name].over_seeds, spreads[name].over_sets]
        seconds = [
            outcome.seconds
            for data in scores.sets
            if (outcome := comparison.outcome(name, data)).seconds is not None
        ]
        row.append(Cell(median(seconds), f"{median(seconds):.2f}") if seconds else None)
        rows.append(row)
    n_common, n_sets = len(block.table.sets), len(scores.sets)
    header = [
        "system",
        f"mean {score}",
        "sets",
        "mean over families",
        f"mean on {n_common} common sets",
        "mean rank",
        "wins / ties / losses",
        "mean difference",
        "95 % from",
        "to",
        "p (Holm)",
        "spread over seeds",
        "spread over sets",
        "seconds (median)",
    ]
    caption = (
        f"{score} in percent on {counted(n_sets, 'data set')}, {counted(len(comparison.seeds), 'seed')}; "
        f"wins, differences and p against {reference}"
    )
    return _with_best(Table(header, rows, caption))


def _with_best(table: Table) -> Table:
    """Mark the best means, and the best rank."""
    best = {}
    for column, choose in ((4, max), (5, min)):  # means on other sets cannot be compared
        values = [value for row in table.cells if isinstance(value := row[column].value, float)]
        best[column] = choose(values) if values else None
    rows = [
        [
            replace(cell, best=j in best and cell.value is not None and cell.value == best[j])
            for j, cell in enumerate(row)
        ]
        for row in table.cells
    ]
    return replace(table, rows=rows)


def _against(
    scores: ScoreTable, name: str, reference: str, counts: object, test: object
) -> list[Cell | str | float | None]:
    """Return the cells that compare a system with the reference."""
    if name == reference or counts is None:
        return [None] * 5
    wins, ties, losses = (getattr(counts, part) for part in ("wins", "ties", "losses"))
    apart = mean_difference(scores, name, reference)
    p_value = getattr(test, "adjusted_p", None)
    cells: list[Cell | str | float | None] = [Cell(f"{wins} / {ties} / {losses}")]
    for value in (apart.difference, apart.low, apart.high):
        cells.append(None if value is None else Cell(value, signed(round(value, 1))))
    cells.append(
        None if p_value is None else Cell(p_value, f"{p_value:.3f}" if p_value >= 0.001 else "<0.001")
    )
    return cells


def sets_table(comparison: Comparison, scores: ScoreTable, score: str) -> Table:
    """Return one row for each data set, one column for each system; an empty cell says why."""
    reasons = reasons_of(comparison)
    facts = {one.name: one for one in comparison.sets}
    rows = []
    for i, data in enumerate(scores.sets):
        row: list[Cell | str | int | float | None] = [data, facts[data].n_samples, facts[data].n_views]
        for j, name in enumerate(scores.systems):
            value = scores.means[i, j]
            if np.isnan(value):
                row.append(Cell(None, short_reason(reasons.get((data, name), ""))))
            else:
                row.append(float(value))
        rows.append(row)
    return _best_of_systems(Table(["set", "samples", "views", *scores.systems], rows, f"{score} in percent"))


def _best_of_systems(table: Table) -> Table:
    """Mark the best system of each row."""
    rows = []
    for row in table.cells:
        values = [cell.value for cell in row[3:] if isinstance(cell.value, float)]
        best = f"{max(values):.1f}" if values else None
        rows.append(
            [
                *row[:3],
                *(
                    Cell(cell.value, cell.text, isinstance(cell.value, float) and f"{cell.value:.1f}" == best)
                    for cell in row[3:]
                ),
            ]
        )
    return Table(table.header, rows, table.caption)


def short_reason(reason: str) -> str:
    """Return a word or two for an empty cell.

    Examples
    --------
    >>> short_reason("Stopped after 60 s, the limit."), short_reason("It does not load: no such file")
    ('time', 'not loaded')
    """
    if reason.startswith("Stopped after"):
        return "time"
    if "memory" in reason.casefold():
        return "memory"
    if reason.startswith("It does not load"):
        return "not loaded"
    if reason in (NOT_RUN, INTERRUPTED):
        return reason
    return "failed" if reason else "–"


def _sentences(
    scores: ScoreTable, block: CompleteBlock, groups: RankGroups | None, reference: str, score: str
) -> list[str]:
    """Say what the figures show; nothing that they do not."""
    found = []
    if groups is not None and not groups.reason and groups.n_sets >= ENOUGH:
        test = friedman(block.table)
        first = groups.systems[0]
        found.append(
            f"{first} has the best mean rank, {decimal(groups.mean_ranks[0], 2)} of "
            f"{len(groups.systems)}, on {counted(groups.n_sets, 'common data set')}."
        )
        clique = next((group for group in groups.cliques if first in group), ())
        others = [name for name in clique if name != first]
        if others:
            found.append(
                f"By Wilcoxon's test with Holm's correction it cannot be told from {listed(others)}."
            )
        if test.f_p is not None:
            found.append(f"Friedman's test that all are alike: p {_p(test.f_p)}.")
    found.extend(_ahead(scores, reference))
    if block.systems_left_out:
        left = [f"{one.name} ({one.reason})" for one in block.systems_left_out]
        found.append(f"Not in ranks and tests: {listed(left)}.")
    return found


def _ahead(scores: ScoreTable, reference: str) -> list[str]:
    """Say who is ahead of the reference by more than the choice of the data sets explains."""
    others = [name for name in scores.systems if name != reference]
    apart = [mean_difference(scores, name, reference) for name in others]
    known = [one for one in apart if one.low is not None and one.n_families >= ENOUGH]
    if not known:
        return [
            f"Fewer than {ENOUGH} data sets that are not related: too few to say who is ahead in general."
        ] * (len(others) > 0)
    ahead = [
        f"{one.system} ({signed(one.difference)})"
        for one in known
        if one.low is not None and one.low > 0 and one.difference is not None
    ]
    if ahead:
        return [
            f"Ahead of {reference} by more than the choice of data sets explains (95 % interval above 0): "
            f"{listed(ahead)}."
        ]
    return [
        f"No system is ahead of {reference} by more than the choice of data sets explains: all 95 % "
        "intervals of the mean difference reach 0 or below."
    ]


def _p(value: float) -> str:
    return f"= {value:.3f}" if value >= 0.001 else "below 0.001"


def failures(comparison: Comparison) -> Table | None:
    """Return why cells are empty, each reason once with where it came up; None if there are none."""
    where: dict[tuple[str, str], list[str]] = {}
    for (data, condition, oracle, name), one in comparison.outcomes.items():
        if one.status == FAILED:
            place = data if condition == CLEAN else f"{data}, {condition}{' (oracle)' if oracle else ''}"
            where.setdefault((name, one.reason), []).append(place)
    not_loaded = {one.name: one.reason for one in comparison.sets if one.reason}
    rows = [
        [name, reason, listed(places, most=4, noun="place")]
        for (name, reason), places in where.items()
        if reason not in not_loaded.values()
    ]
    rows += [["all systems", reason, name] for name, reason in not_loaded.items()]
    return Table(["system", "why there is no score", "where"], rows) if rows else None
