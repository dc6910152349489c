"""The tables of the study, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .contenders import BEST_VIEW, FUSIONS
from .corruptions import CLEAN, SHUFFLED, WITHOUT
from .figures import TIE, Scores, holm, signed_rank_p, summed_up, wins_ties_losses
from .targets import shuffled_losses, targets

NONE = "–"


def report(cells: dict[str, Any], facts: dict[str, Any], reference: str = "DGF", score: str = "nmi") -> str:
    """Return all tables."""
    scores = Scores(cells, score)
    if not scores.sets:
        return "Nothing has been measured."
    parts = [
        ", ".join(f"{name} {value}" for name, value in facts.items()),
        clean_table(scores),
        difference_table(scores, reference),
        condition_table(scores),
        loss_table(scores),
        shuffled_table(scores),
        time_table(scores),
        target_table(scores, reference),
    ]
    return "\n\n".join(part for part in parts if part)


def clean_table(scores: Scores) -> str:
    """Scores on clean data: a row for each set, a column for each system, empty cells with their reasons."""
    reasons: dict[str, int] = {}
    rows = []
    for data in scores.sets:
        row = [data]
        for system in scores.systems:
            value = scores.mean(data, CLEAN, system)
            if value is None:
                reason = scores.cell(data, CLEAN, system)["reason"]
                row.append(f"[{reasons.setdefault(reason, len(reasons) + 1)}]")
            else:
                row.append(f"{value:.1f}")
        rows.append(row)
    means = {system: list(scores.means(CLEAN, system).values()) for system in scores.systems}
    rows.append(["mean", *(_number(values and float(np.mean(values))) for values in means.values())])
    rows.append(["sets", *(str(len(values)) for values in means.values())])
    everywhere = [data for data in scores.sets if _complete(scores, data)]
    shared = [[scores.means(CLEAN, system)[data] for data in everywhere] for system in scores.systems]
    rows.append(
        [f"mean on the {len(everywhere)} sets of all", *(_number(v and float(np.mean(v))) for v in shared)]
    )
    notes = [f"[{number}] {reason}" for reason, number in reasons.items()]
    if BEST_VIEW in scores.systems:
        notes.append(f"\\* {BEST_VIEW}: the single view that is best by the labels, which nobody has")
    title = f"## Clean: {scores.score.upper()} in percent, means over seeds ({_seeds_text(scores, CLEAN)})"
    return _join(title, table(["set", *map(_titled, scores.systems)], rows), "  \n".join(notes))


def difference_table(scores: Scores, reference: str) -> str:
    """Differences to the reference on clean data, with a test over the sets."""
    found = {name: scores.differences(name, reference) for name in scores.systems if name != reference}
    found = {name: differences for name, differences in found.items() if differences}
    if not found:
        return ""
    rows = [
        [data, *(f"{one[data]:+.1f}" if data in one else NONE for one in found.values())]
        for data in scores.sets
    ]
    lists = [list(one.values()) for one in found.values()]
    p_values = [signed_rank_p(one) for one in lists]
    rows += [
        ["mean", *(f"{np.mean(one):+.2f}" for one in lists)],
        [f"{reference} wins/ties/losses", *("/".join(map(str, wins_ties_losses(one))) for one in lists)],
        ["p (Wilcoxon, two-sided)", *(f"{p:.2g}" for p in p_values)],
        [f"p (Holm, {len(p_values)} tests)", *(f"{p:.2g}" for p in holm(p_values))],
    ]
    title = f"## Clean: difference to {reference} (negative: {reference} is better; a tie is within {TIE:g})"
    return _join(title, table(["set", *map(_titled, found)], rows))


def condition_table(scores: Scores) -> str:
    """Mean scores in every condition."""
    rows = []
    for system in scores.systems:
        values = [list(scores.means(condition, system).values()) for condition in scores.conditions]
        cells = [f"{np.mean(one):.1f} ({len(one)})" if one else NONE for one in values]
        rows.append([_titled(system), *cells])
    spoiled = {_seeds_text(scores, one) for one in scores.conditions if one != CLEAN}
    title = f"## Every condition: mean {scores.score.upper()} (number of sets); " + "; ".join(
        [f"clean: {_seeds_text(scores, CLEAN)}", *sorted(f"others: {one}" for one in spoiled)]
    )
    return _join(title, table(["system", *scores.conditions], rows))


def loss_table(scores: Scores) -> str:
    """Losses by every corruption against the same system's clean score, over the same seeds."""
    spoiled = [one for one in scores.conditions if one != CLEAN]
    if not spoiled or CLEAN not in scores.conditions:
        return ""
    rows = [
        [_titled(system), *(_loss(scores.losses(system, condition)) for condition in spoiled)]
        for system in scores.systems
        if system != BEST_VIEW
    ]
    title = "## Loss against its own clean score: mean; worst (set)"
    return _join(title, table(["system", *spoiled], rows))


def shuffled_table(scores: Scores) -> str:
    """Losses by a shuffled view against being without it."""
    if SHUFFLED not in scores.conditions or WITHOUT not in scores.conditions:
        return ""
    rows = [
        [_titled(system), *(_loss(shuffled_losses(scores, system, three_or_more=b)) for b in (True, False))]
        for system in scores.systems
        if system != BEST_VIEW
    ]
    title = "## Loss by a shuffled view against being without it: mean; worst (set)"
    return _join(title, table(["system", "3 or more views", "2 views"], rows))


def time_table(scores: Scores, reference: str = "paper DGF") -> str:
    """Seconds of one fit to each clean set, on one thread, next to the paper's fixed setting."""
    rows = []
    for system in scores.systems:
        row, n_sets = [_titled(system)], 0
        for key in ("seconds", "cpu_seconds"):
            own, other = scores.times(system, key), scores.times(reference, key)
            common = [data for data in own if data in other]
            total = sum(own.values())
            ratio = sum(own[d] for d in common) / sum(other[d] for d in common) if common else None
            median = float(np.median([own[d] / other[d] for d in common])) if common else None
            row += [f"{total:.2f}" if own else NONE, _number(ratio, 2), _number(median, 2)]
            n_sets = len(own)
        rows.append([*row, str(n_sets)])
    header = ["system", "wall s", "ratio", "median ratio", "CPU s", "ratio", "median ratio", "sets"]
    title = f"## Time of one fit to every clean set, on one thread; ratios to {reference} on the same sets"
    return _join(title, table(header, rows))


def target_table(scores: Scores, reference: str) -> str:
    """Targets and what was reached, for the reference and for the other of SGF and DGF."""
    columns = [reference, *(name for name in FUSIONS if name != reference)]
    columns = [name for name in columns if name in FUSIONS and name in scores.systems]
    if not columns:
        return ""
    judged = [targets(scores, system) for system in columns]
    verdicts = {True: "pass", False: "FAIL", None: NONE}
    rows = [
        [of_all[0].what, *(f"{verdicts[one.met]}: {one.found}" for one in of_all)]
        for of_all in zip(*judged, strict=True)
    ]
    return _join("## Targets", table(["target", *columns], rows))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, the first column to the left, all others to the right."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _complete(scores: Scores, data: str) -> bool:
    return all(scores.mean(data, CLEAN, system) is not None for system in scores.systems)


def _seeds_text(scores: Scores, condition: str) -> str:
    cells = [scores.seeds(data, condition, system) for data in scores.sets for system in scores.systems]
    counts = sorted({len(one) for one in cells if one})
    return f"seeds per cell: {' or '.join(map(str, counts))}" if counts else "nothing measured"


def _titled(system: str) -> str:
    return f"{system}\\*" if system == BEST_VIEW else system


def _loss(losses: dict[str, float]) -> str:
    found = summed_up(losses)
    return NONE if found is None else f"{found.mean:.2f}; {found.worst:.2f} ({found.where})"


def _number(value: Any, digits: int = 1) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else NONE


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
