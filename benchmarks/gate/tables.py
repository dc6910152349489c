"""What changed: the tree next to the baseline, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import Any

from .store import Store

SLOWER, MORE = 1.10, 1.10  # ratios of seconds, corrected by the yardstick, and of memory that are pointed out
# What a part's seconds go by: the mix of yardsticks that is most like its work.
LIKE = {
    "import": ("sort",),
    "cold start": ("sort",),
    "UCI_Digits": ("product", "sort"),
    "n = 100,000": ("product", "gather"),
    "n = 1,000,000": ("product", "gather"),
}
# Stages of the baseline's code, and the stages that do the same work now.
SAME_WORK = {
    "neighbors": ("search",),
    "agreement": ("agree",),
    "graph": ("connect", "weigh"),
    "fusion": ("fuse",),
    "spectral": ("embed",),
    "selection": ("select",),
    "labels": ("label",),
}


def facts_that_differ(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return what is another machine or version now."""
    return [f"{key} {now.get(key)} ({before[key]})" for key in before if before[key] != now.get(key)]


def speed_table(before: Store, now: Store) -> Iterator[str]:
    """Yield lines about seconds and memory."""
    yield f"{'':<34}{'baseline':>10}{'now':>10}{'ratio':>8}{'corrected':>11}{'GiB':>8}{'now':>7}"
    for name, new in (now.content.get("speed") or {}).items():
        old = before.get("speed", name)
        if old is None or "seconds" not in old or "seconds" not in new:
            yield f"{name:<34}{'not measured: ' + str(new.get('reason') or (old or {}).get('reason'))}"
            continue
        pace = mean(new["yardstick"][key] / old["yardstick"][key] for key in LIKE[name])
        yield _speed_row(name, old, new, pace)
        for stage, seconds in _stages(old).items():
            same = [one for one in (stage, *SAME_WORK.get(stage, ())) if one in _stages(new)]
            if same and seconds >= 0.02:
                later = sum(_stages(new)[one] for one in same)
                yield _row(
                    f"  {' + '.join(same)}", seconds, later, pace, _peak(old, [stage]), _peak(new, same)
                )


def _stages(found: dict[str, Any]) -> dict[str, float]:
    return found.get("stages") or found.get("models", {}).get("DGF", {}).get("stages", {})


def _peak(found: dict[str, Any], stages: Sequence[str]) -> float | None:
    known = found.get("peaks", {})
    return max((known[stage] for stage in stages if stage in known), default=None)


def _speed_row(name: str, old: dict[str, Any], new: dict[str, Any], pace: float) -> str:
    return _row(name, old["seconds"], new["seconds"], pace, old.get("peak"), new.get("peak"))


def _row(
    name: str, old: float, new: float, pace: float, peak: float | None = None, later: float | None = None
) -> str:
    ratio = new / old
    line = f"{name:<34}{old:>10.3f}{new:>10.3f}{ratio:>8.2f}{ratio / pace:>11.2f}"
    marks = " SLOWER" if ratio / pace > SLOWER and new - old > 0.05 else ""
    if peak is not None and later is not None:
        line += f"{peak:>8.2f}{later:>7.2f}"
        marks += " MORE MEMORY" if later > MORE * peak else ""
    return line + marks


def fits_table(before: Store, now: Store, same_machine: bool) -> Iterator[str]:
    """Yield lines about digests: how many fits have the same bits, and what differs in the others."""
    counts: dict[str, list[int]] = {}
    details: list[str] = []
    for set_name, found in (now.content.get("fits") or {}).items():
        for name, new in found.items():
            old = before.get("fits", set_name, name)
            if old is None:
                continue
            verdict, detail = _compared(old, new)
            counts.setdefault(name, [0, 0, 0])[verdict] += 1
            if verdict:
                details.append(f"  {set_name}, {name}: {detail}")
    yield f"{'':<18}{'same bits':>10}{'same labels':>13}{'other':>7}"
    for name, (same, partition, other) in counts.items():
        yield f"{name:<18}{same:>10}{partition:>13}{other:>7}"
    if not same_machine:
        yield "Another processor or other versions: other bits are to be expected."
    yield from details


def _compared(old: dict[str, Any], new: dict[str, Any]) -> tuple[int, str]:
    """Return 0 for the same bits, 1 for the same labels, 2 otherwise; and what differs."""
    if "reason" in old or "reason" in new:
        if old.get("reason") == new.get("reason"):
            return 0, ""
        return 2, f"{new.get('reason', 'fits')} (before: {old.get('reason', 'it was fitted')})"
    first, second = old["digests"], new["digests"]
    shared = [key for key in first if key in second]
    gone = sorted(first.keys() - second.keys())  # what there was not before is no change
    apart = {key: _distance(first[key], second[key]) for key in shared if first[key][0] != second[key][0]}
    if not apart and not gone:
        return 0, ""
    changes = [f"{key} {distance:.1e}" for key, distance in apart.items()]
    changes += [f"gone: {', '.join(gone)}"] if gone else []
    if "labels" in apart:
        return 2, f"NMI {new['nmi']:.2f} (before {old['nmi']:.2f}); {'; '.join(changes)}"
    return 1, "; ".join(changes)


def _distance(old: list[Any], new: list[Any]) -> float:
    return max(abs(a - b) for a, b in zip(old[1:], new[1:], strict=True)) / max(abs(old[1]), 1e-300)


def scores_table(before: Store, now: Store) -> Iterator[str]:
    """Yield mean scores per fit and part of the data sets, now and before, over the same sets and seeds."""
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    parts = before.content["sets"]
    for set_name, found in (now.content.get("fits") or {}).items():
        for name, new in found.items():
            old = before.get("fits", set_name, name) or {}
            if "nmi" in old and "nmi" in new:
                rows.setdefault((name, parts[set_name]), []).append((old["nmi"], new["nmi"]))
    for set_name, scored in (now.content.get("scores") or {}).items():
        for name, seeds in scored.items():
            earlier = before.get("scores", set_name, name)
            if isinstance(seeds, list) and isinstance(earlier, list):
                key = f"{name}, ten seeds", parts[set_name]
                rows.setdefault(key, []).append((mean(earlier), mean(seeds)))
    yield f"{'NMI':<28}{'part':<12}{'sets':>5}{'baseline':>10}{'now':>8}{'worst':>8}{'best':>7}"
    for (name, part), pairs in sorted(rows.items()):
        old, new = (mean(one) for one in zip(*pairs, strict=True))
        changes = [b - a for a, b in pairs]
        yield (
            f"{name:<28}{part:<12}{len(pairs):>5}{old:>10.2f}{new:>8.2f}"
            f"{min(changes):>+8.2f}{max(changes):>+7.2f}"
        )
