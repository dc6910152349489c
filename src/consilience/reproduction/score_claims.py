"""Verdicts on claims about scores, each from the numbers alone, by the thresholds below."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from ..words import counted_of, listed, signed
from .definitions import Paper
from .rows import Row, set_title, system_title
from .verdicts import (
    FAILS,
    HOLDS,
    IN_PART,
    Judgement,
    Tables,
    cells,
    nothing,
    on,
    own_systems,
    single_view,
    unless_few_sets,
    untuned_rows,
)

AS_PRINTED = 0.005  # scores are printed with two digits: less than half of the last is no difference
GENERALLY = 2 / 3  # "generally better": in at least two of three cases; below one of three, the reverse
COMPARABLE = 2.0  # points of NMI that make no difference: repetitions of one system differ by as much


def fusion_beats_best_view(tables: Tables, paper: Paper) -> Judgement:
    """Count, over sets and systems, where all views together beat the best single one by NMI."""
    ours = _won_against_one_view(cells(tables["scores"], "NMI"), paper)
    if not ours:
        return nothing("the single views and others")
    n_won, n_all = _totals(ours)
    best, worst = (pick(ours, key=lambda data: sum(ours[data]) / len(ours[data])) for pick in (max, min))
    text = f"Combining the views gives a higher NMI than the best single view in {n_won} of {n_all} cases"
    if sum(ours[best]) / len(ours[best]) > sum(ours[worst]) / len(ours[worst]):
        sets = [
            f"{set_title(paper, data)} ({sum(ours[data])} of {len(ours[data])})" for data in (best, worst)
        ]
        text += f", most often on {sets[0]}, least often on {sets[1]}"
    printed: dict[str, dict[str, float]] = {}
    for (data, name, metric), cell in paper.scores.items():
        if metric == "NMI":
            printed.setdefault(data, {})[name] = cell.mean
    theirs = _totals(_won_against_one_view(printed, paper))
    text += f". In the paper's own table it is {theirs[0]} of {theirs[1]}."
    share = n_won / n_all
    return HOLDS if share >= GENERALLY else IN_PART if share > 1 - GENERALLY else FAILS, text


def _won_against_one_view(found: dict[str, dict[str, float]], paper: Paper) -> dict[str, list[bool]]:
    """Return set -> whether each system is above the best single view."""
    alone = single_view(paper)
    won = {}
    for data, scores in found.items():
        single = [scores[name] for name in alone if name in scores]
        others = [score for name, score in scores.items() if name not in alone]
        if single and others:
            won[data] = [score > max(single) + AS_PRINTED for score in others]
    return won


def _totals(won: dict[str, list[bool]]) -> tuple[int, int]:
    return sum(map(sum, won.values())), sum(map(len, won.values()))


def best_on_most_sets(tables: Tables, paper: Paper) -> Judgement:
    """Count on how many sets SGF, and DGF, is above every other system."""
    own = own_systems(paper)
    above = {name: _above_all_others(tables["scores"], "NMI", name, own) for name in own}
    if not all(above.values()):
        return nothing("SGF, DGF and others")
    n_sets = max(map(len, above.values()))
    counts = [
        f"{system_title(paper, name)} on {counted_of(sum(won.values()), len(won), 'set')}"
        for name, won in above.items()
    ]
    text = f"By NMI, above every other system: {listed(counts)}."
    beaten = [data for data in above[own[0]] if not any(won.get(data) for won in above.values())]
    if beaten:
        text += " " + _where_not_ahead(tables["scores"], beaten, own, paper)
    metrics = paper.experiments.metrics
    pairs = [
        won
        for m in metrics
        for name in own
        for won in _above_all_others(tables["scores"], m, name, own).values()
    ]
    text += f" Over all {len(metrics)} scores it is {sum(pairs)} of {len(pairs)} cases."
    most = [sum(won.values()) > len(won) / 2 for won in above.values()]
    return unless_few_sets(n_sets, (HOLDS if all(most) else IN_PART if any(most) else FAILS, text))


def _above_all_others(rows: Sequence[Row], metric: str, name: str, own: list[str]) -> dict[str, bool]:
    """Return set -> whether a system scores above all that are not the paper's own."""
    won = {}
    for data, scores in cells(rows, metric).items():
        others = [score for other, score in scores.items() if other not in own]
        if name in scores and others:
            won[data] = scores[name] > max(others) + AS_PRINTED
    return won


def _where_not_ahead(rows: Sequence[Row], sets: list[str], own: list[str], paper: Paper) -> str:
    """Say where neither SGF nor DGF is ahead, and by how much at worst."""
    found = cells(rows, "NMI")
    gaps = {}
    for data in sets:
        ahead = max((n for n in found[data] if n not in own), key=found[data].__getitem__)
        behind = max((n for n in found[data] if n in own), key=found[data].__getitem__)
        gaps[data] = found[data][ahead] - found[data][behind], ahead, behind
    worst = max(sets, key=lambda data: gaps[data][0])
    _, ahead, behind = gaps[worst]
    where = listed([set_title(paper, data) for data in sets])
    which = "" if len(sets) == 1 else f"; furthest on {set_title(paper, worst)}"
    return (
        f"Neither is on {where}{which}: {system_title(paper, ahead)} {found[worst][ahead]:.1f}, "
        f"{system_title(paper, behind)} {found[worst][behind]:.1f}."
    )


def good_untuned(tables: Tables, paper: Paper) -> Judgement:
    """Compare SGF and DGF without tuning with the best of the other systems, tuned by the labels."""
    left_out = [*own_systems(paper), *single_view(paper)]
    tuned = cells(tables["scores"], "NMI")
    untuned = cells(untuned_rows(tables, paper), "NMI")
    gaps: dict[tuple[str, str], float] = {}
    for data, scores in untuned.items():
        rivals = [score for name, score in tuned.get(data, {}).items() if name not in left_out]
        if rivals:
            gaps |= {(name, data): score - max(rivals) for name, score in scores.items()}
    if not gaps:
        return nothing("SGF, DGF and others")
    sentences = []
    for name in own_systems(paper):
        own = [gap for (system, _), gap in gaps.items() if system == name]
        won, near = sum(gap > AS_PRINTED for gap in own), sum(-COMPARABLE <= gap <= AS_PRINTED for gap in own)
        also = f" and within {COMPARABLE:g} points on {near} more" if near else ""
        sentences.append(f"{system_title(paper, name)} is ahead on {counted_of(won, len(own), 'set')}{also}")
    worst = min(gaps, key=gaps.__getitem__)
    text = f"Untuned, compared with the best other multi-view system, {'; '.join(sentences)}."
    if gaps[worst] < -COMPARABLE:
        text += f" Furthest behind is {on(paper, *worst)}, by {-gaps[worst]:.1f} points of NMI."
    won, fine = (
        sum(gap > AS_PRINTED for gap in gaps.values()),
        sum(gap >= -COMPARABLE for gap in gaps.values()),
    )
    # "Many" is half of the cases; elsewhere no case may be worse than comparable.
    full, half = fine == len(gaps) and won >= len(gaps) / 2, fine >= len(gaps) / 2
    return unless_few_sets(len(untuned), (HOLDS if full else IN_PART if half else FAILS, text))


def revised_scores_higher(tables: Tables, paper: Paper) -> Judgement:
    """Count on how many sets SGF and DGF gained NMI since 2019."""
    gains = {
        name: {
            row["set"]: row["NMI_gain"] for row in tables["2019"] if row["system"] == name and _gained(row)
        }
        for name in own_systems(paper)
    }
    gains = {name: found for name, found in gains.items() if found}
    if not gains:
        return nothing("both versions")
    sentences, most = [], []
    for name, found in gains.items():
        up = sum(gain > AS_PRINTED for gain in found.values())
        most.append(up > len(found) / 2)
        low, high = (pick(found, key=found.__getitem__) for pick in (min, max))
        sentences.append(
            f"{system_title(paper, name)} has a higher NMI than "
            f"{system_title(paper, paper.systems[name].revises)} on {counted_of(up, len(found), 'set')}; the "
            f"difference is {signed(found[low])} ({set_title(paper, low)}) to {signed(found[high])} points "
            f"({set_title(paper, high)})."
        )
    judgement = HOLDS if all(most) else IN_PART if any(most) else FAILS, " ".join(sentences)
    return unless_few_sets(max(map(len, gains.values())), judgement)


def _gained(row: Row) -> bool:
    return row.get("NMI_gain") is not None


def fewer_neighbors(tables: Tables, paper: Paper) -> Judgement:
    """Compare the paper's number of neighbours with the other one, without tuning."""
    k = paper.experiments.arguments["n_neighbors"]
    found = {(row["system"], row["set"], row["n_neighbors"]): row.get("NMI") for row in tables["no-tuning"]}
    many = max((row["n_neighbors"] for row in tables["no-tuning"]), default=k)
    gains = {
        key[:2]: value - found[*key[:2], many]
        for key, value in found.items()
        if key[2] == k != many and value is not None and found.get((*key[:2], many)) is not None
    }
    if not gains:
        return nothing("both numbers of neighbours")
    better = sum(gain > AS_PRINTED for gain in gains.values())
    low, high = (pick(gains, key=gains.__getitem__) for pick in (min, max))
    text = (
        f"NMI with k = {k} is above that with k = {many} in {counted_of(better, len(gains), 'case')}; the "
        f"difference is {signed(mean(gains.values()))} points on average, from {signed(gains[low])} "
        f"({on(paper, *low)}) to {signed(gains[high])} ({on(paper, *high)})."
    )
    share, gain = better / len(gains), mean(gains.values())
    if share >= GENERALLY and gain > 0:
        return HOLDS, text
    return FAILS if share <= 1 - GENERALLY and gain < 0 else IN_PART, text
