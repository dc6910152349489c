"""What the defaults should reach, and whether they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .contenders import FUSIONS
from .corruptions import CLEAN, SHUFFLED, WITHOUT
from .figures import Loss, Scores, summed_up

GAIN = 5.0  # points above the paper's fixed setting, and above SNF
NOISE_MEAN, NOISE_WORST = 1.0, 3.0
COPY_WORST = 1.0
UNCHANGED = 1e-9
HUGE_MEAN = 2.0
SHUFFLED_MEAN = 1.0


@dataclass(frozen=True)
class Target:
    """A target: what it says, what was found, whether that meets it (None: it was not measured)."""

    what: str
    found: str = "not measured"
    met: bool | None = None


def targets(scores: Scores, system: str) -> list[Target]:
    """Return the targets of one of SGF and DGF, with what it reached."""
    return [*_gains(scores, system), *_losses(scores, system)]


def _gains(scores: Scores, system: str) -> Iterator[Target]:
    own = f"paper {system}"
    papers = [f"paper {name}" for name in FUSIONS]
    by_mean = {name: scores.means(CLEAN, name) for name in papers}
    better = max(
        papers, key=lambda name: float(np.mean(list(by_mean[name].values()))) if by_mean[name] else -1.0
    )
    fixed = "the paper's fixed setting"
    others = {f"{fixed} of the same": own, f"{fixed} of the better ({better})": better, "SNF": "SNF"}
    for what, other in others.items():
        title = f"clean: mean at least {what} + {GAIN:g}"
        differences = scores.differences(other, system)
        if not differences:
            yield Target(title)
            continue
        gain = -float(np.mean(list(differences.values())))
        yield Target(title, f"{gain:+.2f} on {len(differences)} sets", gain >= GAIN)


def _losses(scores: Scores, system: str) -> Iterator[Target]:
    for noise in ("noise 1:1", "noise 2:1"):
        loss = summed_up(scores.losses(system, noise))
        yield _limit(f"{noise}: mean loss", loss, "mean", NOISE_MEAN)
        yield _limit(f"{noise}: worst loss", loss, "worst", NOISE_WORST)
    yield _limit("copy: worst loss", summed_up(scores.losses(system, "copy")), "worst", COPY_WORST)
    loss = summed_up(scores.losses(system, "times 1e6"))
    yield _limit("times 1e6: largest change", loss, "largest_change", UNCHANGED)
    yield _limit(
        "huge columns: mean loss", summed_up(scores.losses(system, "huge columns")), "mean", HUGE_MEAN
    )
    loss = summed_up(shuffled_losses(scores, system, three_or_more=True))
    yield _limit("shuffled view, of 3 or more: mean loss against without it", loss, "mean", SHUFFLED_MEAN)


def shuffled_losses(scores: Scores, system: str, *, three_or_more: bool) -> dict[str, float]:
    """Return the losses by a shuffled view against being without it, on sets of 3 or more views, or of 2."""
    losses = scores.losses(system, SHUFFLED, against=WITHOUT)
    return {data: loss for data, loss in losses.items() if (scores.n_views[data] >= 3) == three_or_more}


def _limit(what: str, loss: Loss | None, part: str, at_most: float) -> Target:
    title = f"{what} at most {at_most:g}"
    if loss is None:
        return Target(title)
    value = float(getattr(loss, part))
    number = f"{value:.2g}" if part == "largest_change" else f"{value:.2f}"
    where = f" (worst {loss.worst:.2f}, {loss.where})" if part == "mean" else f" ({loss.where})"
    return Target(title, number + ("" if part == "largest_change" else where), value <= at_most)
