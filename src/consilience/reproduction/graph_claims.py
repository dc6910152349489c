"""Verdicts on claims about the learned graphs: the grid, convergence, E and alpha, how clean they are."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean, median

from ..words import between, counted_of, listed, parameter_value, percent
from .definitions import Paper
from .rows import Row, seen_views, system_title
from .verdicts import FAILS, HOLDS, IN_PART, Judgement, Tables, nothing, on, untuned_rows

NEAR_BEST = 0.9  # a point of the grid is near the best if it keeps nine tenths of its NMI
WIDE = 0.75  # "a wide range": three quarters of the grid are near the best
FEW_ROUNDS = 10  # "a few rounds": the stopping rule cannot end before the fifth; twice that
MOSTLY = 0.9  # "mostly": nine fits of ten
STOPPED_RIGHT = 0.95  # the rule ends when the last round brought less than 5 % of the fall so far
ROUNDING = 1e-9  # of the objective, relative
LOWER = 0.01  # an objective is lower by more than a hundredth, or it is the same for our purposes
NOTHING = 1e-4  # a fall of less than this is not worth a figure
FEW_WEIGHT = 0.01  # hardly any weight: less than a hundredth
NEARLY_UNIFORM = 0.2  # scales are nearly uniform if none is off 1/v by more than a fifth


def stable_over_grid(tables: Tables, paper: Paper) -> Judgement:
    """Find what part of the grid keeps most of the best NMI, for every set and method."""
    surfaces: dict[tuple[str, str], list[float]] = {}
    for row in tables["sensitivity"]:
        if row.get("NMI") is not None:
            surfaces.setdefault((row["system"], row["set"]), []).append(row["NMI"])
    if not surfaces:
        return nothing("SGF and DGF")
    near = {key: mean(v >= NEAR_BEST * max(values) for v in values) for key, values in surfaces.items()}
    stable = [share >= WIDE for share in near.values()]
    worst = min(near, key=near.__getitem__)
    values = surfaces[worst]
    text = (
        f"On {counted_of(sum(stable), len(stable), 'surface')} at least {percent(WIDE, None)} of the grid "
        f"keeps {percent(NEAR_BEST, None)} of the best NMI. The least stable is {on(paper, *worst)}: "
        f"{min(values):.1f} to {max(values):.1f}, with {percent(near[worst], None)} of {len(values)} points "
        f"near the best. The range over the grid is "
        f"{median(max(v) - min(v) for v in surfaces.values()):.1f} points in the median."
    )
    return HOLDS if all(stable) else IN_PART if sum(stable) > len(stable) / 2 else FAILS, text


def converges_in_few_rounds(tables: Tables, paper: Paper) -> Judgement:
    """Look at the rounds of all fits of the grid, and at the objective round by round."""
    rounds = [row["rounds"] for row in tables["sensitivity"] if row.get("rounds") is not None]
    curves = {key: rows for key, rows in _curves(tables).items() if key[-1] == "dca"}
    if not rounds or not curves:
        return nothing("SGF and DGF")
    few = mean(number_of <= FEW_ROUNDS for number_of in rounds)
    rising = [key for key, rows in curves.items() if _rises([row["objective"] for row in rows])]
    done = {key: _share_of_fall(rows) for key, rows in curves.items()}
    least = min(done, key=done.__getitem__)
    text = (
        f"Over the grid the fits stop after {median(rounds):g} rounds in the median and {max(rounds)} at "
        f"most, {percent(few, None)} of {len(rounds)} within {FEW_ROUNDS}. The objective rises in "
        f"{counted_of(len(rising), len(curves), 'curve')}. Where the rule stops, at least "
        f"{percent(done[least], None)} of the fall that {paper.experiments.convergence.n_rounds} rounds "
        f"bring has been made (least: {_where(least, paper)})."
    )
    if rising:
        return FAILS, text
    return HOLDS if few >= MOSTLY and done[least] >= STOPPED_RIGHT else IN_PART, text


def _curves(tables: Tables) -> dict[tuple[str, str, float, float, str], list[Row]]:
    """Return system, set, beta, gamma, solver -> rows of all rounds."""
    found: dict[tuple[str, str, float, float, str], list[Row]] = {}
    for row in tables["convergence"]:
        if row.get("objective") is not None:
            key = row["system"], row["set"], row["beta"], row["gamma"], row["solver"]
            found.setdefault(key, []).append(row)
    return found


def _where(key: tuple[str, str, float, float, str], paper: Paper) -> str:
    return (
        f"{on(paper, key[0], key[1])} at beta = {parameter_value(key[2])}, gamma = {parameter_value(key[3])}"
    )


def _rises(values: list[float]) -> bool:
    return any(after > before * (1 + ROUNDING) for before, after in pairwise(values))


def _share_of_fall(rows: list[Row]) -> float:
    """Return how much of the fall of all rounds has been made when the stopping rule ends."""
    values = [row["objective"] for row in rows]
    fall = values[0] - values[-1]
    stop = min(rows[0]["stopped_at"], len(values) - 1)
    return (values[0] - values[stop]) / fall if fall > ROUNDING * values[0] else 1.0


def exact_is_lower(tables: Tables, paper: Paper) -> Judgement:
    """Compare where the paper's steps end with where exact steps end that go on from there."""
    curves = _curves(tables)
    saved = {
        key: 1 - rows[-1]["objective"] / curves[*key[:-1], "dca"][-1]["objective"]
        for key, rows in curves.items()
        if key[-1] == "exact" and (*key[:-1], "dca") in curves
    }
    if not saved:
        return nothing("both kinds of steps")
    lower = sum(share > LOWER for share in saved.values())
    sentences = [
        "Going on with exact steps lowers the objective by more than "
        f"{percent(LOWER, None)} in {counted_of(lower, len(saved), 'case')}."
    ]
    for beta, gamma in dict.fromkeys(key[2:4] for key in saved):
        here = [max(share, 0.0) for key, share in saved.items() if key[2:4] == (beta, gamma)]
        by = between(percent(min(here), None), percent(max(here), None))
        by = by if max(here) > NOTHING else f"less than {percent(NOTHING, None)}"
        sentences.append(
            f"At beta = {parameter_value(beta)}, gamma = {parameter_value(gamma)} it falls by {by}."
        )
    return HOLDS if lower == len(saved) else IN_PART if lower else FAILS, " ".join(sentences)


def cleaner_graph(tables: Tables, paper: Paper) -> Judgement:
    """Compare the weight between classes, and NMI, of the learned graph with those of the views."""
    name = paper.experiments.affinity.system
    learned = [row for row in tables["affinity"] if row["title"] == name]
    views = [row for row in tables["affinity"] if row["title"] != name]
    if not learned or not views:
        return nothing("the views and their fusion")
    dirt, nmi = learned[0]["weight_between_classes"], learned[0]["NMI"]
    others = [row["weight_between_classes"] for row in views]
    best = max(row["NMI"] for row in views)
    text = (
        f"In the graph that {system_title(paper, name)} learns, {percent(dirt, None)} of the weight lies "
        f"between classes, in those of the {len(views)} views "
        f"{listed([percent(share, None) for share in others])}. Its clustering has an NMI of {nmi:.1f}, "
        f"that of the best view {best:.1f}."
    )
    clean, better = dirt < min(others), nmi > best
    return HOLDS if clean and better else IN_PART if clean or better else FAILS, text


def weight_in_e(tables: Tables, paper: Paper) -> Judgement:
    """Say how much of the views' weight is in E at the untuned point, and at most on the grid."""
    shares = {
        (row["system"], row["set"]): [share for share, _ in seen_views(row)]
        for row in untuned_rows(tables, paper)
    }
    shares = {key: values for key, values in shares.items() if values}
    if not shares:
        return nothing("SGF and DGF")
    every = [share for values in shares.values() for share in values]
    most = max(shares, key=lambda key: max(shares[key]))
    text = (
        f"Of a view's weight, {between(percent(min(every), None), percent(max(every), None))} moves into E "
        f"({percent(mean(every), None)} on average); most with {on(paper, *most)}."
    )
    grid = [row for row in tables.get("sensitivity", []) if row.get("inconsistent") is not None]
    if grid:
        top = max(grid, key=lambda row: row["inconsistent"])
        text += (
            f" Over the grid the average over the views goes up to {percent(top['inconsistent'], None)}, "
            f"with {on(paper, top['system'], top['set'])} at beta = {parameter_value(top['beta'])}, "
            f"gamma = {parameter_value(top['gamma'])}."
        )
    verdict = HOLDS if max(every) < FEW_WEIGHT else IN_PART if mean(every) < FEW_WEIGHT else FAILS
    return verdict, text


def scales_uniform(tables: Tables, paper: Paper) -> Judgement:
    """Say how far the scales alpha are from 1/v at the untuned point."""
    relative = {}
    for row in untuned_rows(tables, paper):
        seen = seen_views(row)
        if seen:
            relative[row["system"], row["set"]] = [scale * len(seen) for _, scale in seen]
    if not relative:
        return nothing("SGF and DGF")
    every = [value for values in relative.values() for value in values]
    far = {key: max(abs(value - 1) for value in values) for key, values in relative.items()}
    most = max(far, key=far.__getitem__)
    text = (
        f"Times the number of views, the scales lie between {min(every):.2f} and {max(every):.2f}, where 1 "
        f"is uniform; furthest with {on(paper, *most)}."
    )
    near = [value <= NEARLY_UNIFORM for value in far.values()]
    return HOLDS if all(near) else IN_PART if sum(near) > len(near) / 2 else FAILS, text
