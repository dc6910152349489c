"""Reading a comparison that was written, to make other tables of it: no fit is made again."""

from __future__ import annotations

import csv
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from .data_sets import SetFacts
from .fitting import Rules
from .outcome import Outcome
from .result import SCORES, Comparison, Place


def read_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """Read a comparison on several data sets that `Comparison.write` or the command has written.

    It has all scores, times and reasons, on any machine and with any version; labels, stability and warnings
    are not in it.

    Parameters
    ----------
    folder : path
        Where `scores.csv` and `comparison.json` are.

    Examples
    --------
    >>> import tempfile
    >>> import consilience
    >>> from consilience.comparison import DataSet, read_comparison
    >>> def data(i):
    ...     made = consilience.make_multiview(60, n_views=2, n_clusters=3, random_state=i)
    ...     return DataSet(f"blobs {i}", made.views, made.y)
    >>> found = consilience.compare([data(0), data(1)], "average,dgf", seeds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read_comparison(found.write(folder))
    >>> bool((again.score_table("ACC").by_seed == found.score_table("ACC").by_seed).all())
    True
    """
    place = Path(folder)
    facts, rows = _facts(place / "comparison.json"), _rows(place / "scores.csv")
    by_place: dict[Place, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_place[row["set"], row["condition"], row["oracle"] == "True", row["system"]].append(row)
    rules = Rules(preparation=facts["preparation"], shuffle=facts["rows_shuffled"])
    sets = tuple(
        SetFacts(
            one["set"],
            one["part"],
            one["family"],
            one["samples"],
            one["clusters"],
            tuple(one["features"]),
            tuple(f"view {i}" for i in range(len(one["features"]))),
            not one["reason"],
            one["fingerprint"],
            (),
            one["reason"],
        )
        for one in facts["sets"]
    )
    return Comparison(
        sets,
        tuple(facts["systems"]),
        tuple(facts["conditions"]),
        tuple(facts["seeds"]),
        tuple(facts["corrupted_seeds"]),
        rules,
        {where: _outcome(where[3], some) for where, some in by_place.items()},
    )


def _outcome(name: str, rows: list[dict[str, str]]) -> Outcome:
    done = [row for row in rows if row["seed"]]
    scored = [row for row in done if row.get("NMI")]
    return Outcome(
        name,
        status=rows[0]["status"],
        reason=rows[0]["reason"],
        seeds=tuple(int(row["seed"]) for row in done),
        scores=[{score: float(row[score]) for score in SCORES} for row in scored],
        seconds=_number(rows[0].get("seconds")),
        megabytes=_number(rows[0].get("megabytes")),
    )


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _facts(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.parent} holds no comparison: {error}") from None
    if "sets" not in found:
        raise ValueError(f"{path.parent} holds a comparison on one data set; its files are tables already.")
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise ValueError(f"{path.parent} holds no comparison: {error}") from None
