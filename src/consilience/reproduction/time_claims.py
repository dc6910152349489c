"""Verdicts on claims about times: growth, shares, ranks, and eigen-solves."""

from __future__ import annotations

from statistics import median

from ..words import between, counted_of, listed, percent
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
)

SAME_GROWTH = 0.2  # of a fitted exponent: over five doublings, timing noise alone moves it by 0.1
SMALL_PART = 0.25  # "a small part" of the time: less than a quarter
ABOUT_AS_FAST = 2.0  # times the fastest: in the paper's own table, SGF and DGF take at most twice as long
SAME_TIME = 0.05  # times within 5 % of each other are the same
ROUNDING = 1e-9  # of an eigenvalue
LEAST_SOLVE = 0.005  # seconds: what is shorter is timing noise, or a graph in which there is little to solve
GENERALLY = 2 / 3  # of all comparisons
FEWEST_RIVALS = 3  # to be among the two fastest of fewer says nothing


def growth(tables: Tables, paper: Paper) -> Judgement:
    """Compare the fitted exponents with those of the paper."""
    fitted = {row["factor"]: row for row in tables["complexity"] if row.get("exponent") is not None}
    if not fitted:
        return nothing("the fusion")
    titles = {factor.name: factor.title for factor in paper.experiments.complexity.factors}
    exponents = [
        f"{row['exponent']:.2f} ± {row['exponent_error']:.2f} in {titles[name]} "
        f"(paper: {row['paper_exponent']:g})"
        for name, row in fitted.items()
    ]
    text = f"The fitted exponents of our program are {listed(exponents)}."
    off = {name: row["exponent"] - row["paper_exponent"] for name, row in fitted.items()}
    for what, names in (
        ("more slowly", [name for name, by in off.items() if by < -SAME_GROWTH]),
        ("faster", [name for name, by in off.items() if by > SAME_GROWTH]),
    ):
        if names:
            text += f" In {listed([titles[name] for name in names])} it grows {what} than the paper says."
    same = [abs(by) <= SAME_GROWTH for by in off.values()]
    return HOLDS if all(same) else IN_PART if any(same) else FAILS, text


def fusion_is_small_part(tables: Tables, paper: Paper) -> Judgement:
    """Look at the share of graph learning in the time of SGF and DGF."""
    shares = {
        (row["system"], row["set"]): row["stages"]["fuse"]
        for row in tables["times"]
        if row["system"] in own_systems(paper) and "fuse" in (row.get("stages") or {})
    }
    if not shares:
        return nothing("SGF and DGF")
    most = max(shares, key=shares.__getitem__)
    text = (
        f"Graph learning takes {between(percent(min(shares.values())), percent(shares[most], None))} of the "
        f"time of a fit, {percent(median(shares.values()))} in the median; most with {on(paper, *most)}."
    )
    small = [share < SMALL_PART for share in shares.values()]
    return HOLDS if all(small) else IN_PART if sum(small) > len(small) / 2 else FAILS, text


def among_the_fastest(tables: Tables, paper: Paper) -> Judgement:
    """Rank SGF and DGF by time among the systems that combine views."""
    alone = single_view(paper)
    found = {
        data: {name: value for name, value in times.items() if name not in alone}
        for data, times in cells(tables["times"], "seconds").items()
    }
    found = {data: times for data, times in found.items() if len(times) > FEWEST_RIVALS}
    own = [name for name in own_systems(paper) if any(name in times for times in found.values())]
    if not own:
        return nothing("SGF, DGF and enough others")
    ratios = {
        (name, data): times[name] / min(times.values())
        for data, times in found.items()
        for name in own
        if name in times
    }
    front = {key: found[key[1]][key[0]] <= sorted(found[key[1]].values())[1] for key in ratios}
    counts = []
    for name in own:
        won = [is_front for (system, _), is_front in front.items() if system == name]
        counts.append(f"{system_title(paper, name)} on {counted_of(sum(won), len(won), 'set')}")
    text = f"Among the two fastest multi-view systems: {listed(counts)}."
    behind = {key: ratio for key, ratio in ratios.items() if not front[key]}
    if behind:
        worst = max(behind, key=behind.__getitem__)
        fastest = min(found[worst[1]], key=found[worst[1]].__getitem__)
        text += (
            f" Elsewhere they take up to {behind[worst]:.2f} times as long as the fastest "
            f"({on(paper, *worst)}, compared with {system_title(paper, fastest)})."
        )
    some, comparable = any(front.values()), all(ratio <= ABOUT_AS_FAST for ratio in behind.values())
    return unless_few_sets(
        len(found), (HOLDS if some and comparable else IN_PART if some or comparable else FAILS, text)
    )


def revised_is_faster(tables: Tables, paper: Paper) -> Judgement:
    """Compare the times of SGF and DGF with those of their versions of 2019."""
    ratios = {
        (name, data): times[name] / times[paper.systems[name].revises]
        for data, times in cells(tables["times"], "seconds").items()
        for name in own_systems(paper)
        if name in times and paper.systems[name].revises in times
    }
    if not ratios:
        return nothing("both versions")
    faster = sum(ratio < 1 - SAME_TIME for ratio in ratios.values())
    slower = sum(ratio > 1 + SAME_TIME for ratio in ratios.values())
    low, high = (pick(ratios, key=ratios.__getitem__) for pick in (min, max))
    text = (
        f"Compared with the times of 2019, {faster} of {len(ratios)} are shorter, {slower} longer, and "
        f"{len(ratios) - faster - slower} within {percent(SAME_TIME, None)}: {ratios[low]:.2f} "
        f"({on(paper, *low)}) to {ratios[high]:.2f} times as long ({on(paper, *high)})."
    )
    return HOLDS if faster == len(ratios) else IN_PART if faster > slower else FAILS, text


def larger_eigengap(tables: Tables, paper: Paper) -> Judgement:
    """Compare every learned graph with every view of its set: eigengap, and time of the eigen-solve."""
    own = own_systems(paper)
    rows = [row for row in tables["eigengaps"] if row.get("eigengap") is not None]
    pairs = [
        (learned, view)
        for learned in rows
        for view in rows
        if learned["set"] == view["set"] and learned["graph"] in own and view["graph"] not in own
    ]
    if not pairs:
        return nothing("the learned graphs and the views")
    larger = sum(learned["eigengap"] > view["eigengap"] + ROUNDING for learned, view in pairs)
    timed = [(learned, view) for learned, view in pairs if view["seconds"] >= LEAST_SOLVE]
    faster = sum(learned["seconds"] < view["seconds"] * (1 - SAME_TIME) for learned, view in timed)
    text = f"The learned graph has a larger eigengap than a view's in {larger} of {len(pairs)} comparisons"
    if timed:
        gain = percent(SAME_TIME, None)
        text += f", and its eigen-solve is faster, by more than {gain}, in {faster} of {len(timed)}"
    if len(timed) < len(pairs):
        short = len(pairs) - len(timed)
        text += f"; {short} are over in less than {LEAST_SOLVE * 1000:g} ms, too short to compare"
    text += ". " + _above_all_views(rows, own, paper)
    parts = [larger / len(pairs), *([faster / len(timed)] if timed else [])]
    if all(part >= GENERALLY for part in parts):
        return HOLDS, text
    return FAILS if all(part <= 1 - GENERALLY for part in parts) else IN_PART, text


def _above_all_views(rows: list[Row], own: list[str], paper: Paper) -> str:
    """Say on which sets a learned graph has the largest eigengap of all."""
    best: dict[str, Row] = {}
    for row in rows:
        if row["set"] not in best or row["eigengap"] > best[row["set"]]["eigengap"]:
            best[row["set"]] = row
    won = [set_title(paper, data) for data, row in best.items() if row["graph"] in own]
    if not won:
        return "On no set has a learned graph the largest one of all."
    return f"It is the largest one of all on {counted_of(len(won), len(best), 'set')} ({listed(won)})."
