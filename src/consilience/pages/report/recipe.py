"""How the fit was made, in words from which it can be made again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...models.fusion import GraphFusion
from ...run.versions import versions
from ...stages.label import ASSIGNERS, LabelAssigner

DEFAULT_FDR = 0.05  # of the report
# Parameters that change no result; but a callback may stop the fusion.
NO_MATTER = frozenset({"n_jobs", "verbose", "callback"})


def parameters(model: GraphFusion) -> dict[str, tuple[Any, bool]]:
    """Return each parameter's value at the fit, and whether that is the default; the others come first."""
    defaults = type(model)().get_params()
    given = {name: (value, _same(value, defaults[name])) for name, value in model.params_.items()}
    return dict(sorted(given.items(), key=lambda item: item[1][1]))


def code(model: GraphFusion, fdr: float) -> str:
    """Return Python code that makes the fit and its report again, given the data."""
    name = type(model).__name__
    given, remarks, needed = [], [], {name}
    # Defaults too: those of a later version may be others.
    for parameter, (value, _) in parameters(model).items():
        if parameter in NO_MATTER and (parameter != "callback" or value is None):
            continue
        written = literal(value)
        if written is None:
            remarks.append(f"# {parameter} was a {type(value).__name__}, which cannot be written here.")
        else:
            given.append(f"    {parameter}={written},")
            needed.update({type(value).__name__} if isinstance(value, LabelAssigner) else ())
    if model.params_["random_state"] is None:
        remarks.append("# No seed was given (random_state): another run may differ a little.")
    return "\n".join(
        [
            f"# consilience {versions()['consilience']}",
            f"from consilience import {', '.join(sorted(needed))}",
            "",
            "views = ...  # the data of the fit; their fingerprint is checked below",
            *remarks,
            f"model = {name}(",
            *given,
            ").fit(views)",
            f'assert model.data_fingerprint_ == "{model.data_fingerprint_}"',
            f'model.report("report.html", views=views{"" if fdr == DEFAULT_FDR else f", fdr={fdr!r}"})',
        ]
    )


def literal(value: Any) -> str | None:
    """Return Python code for a value; None if there is no short one."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, LabelAssigner) and type(value) in ASSIGNERS.values():
        return repr(value)
    if isinstance(value, Mapping):
        items = {literal(key): literal(one) for key, one in value.items()}
        if None in items or None in items.values():
            return None
        return "{" + ", ".join(f"{key}: {one}" for key, one in items.items()) + "}"
    if isinstance(value, list | tuple):
        parts = [literal(one) for one in value]
        if None in parts:
            return None
        whole = ", ".join(str(part) for part in parts)
        return f"[{whole}]" if isinstance(value, list) else f"({whole}{',' if len(parts) == 1 else ''})"
    return None


def _same(value: Any, default: Any) -> bool:
    """Compare a parameter with its default; an array is no default."""
    return type(value) is type(default) and bool(np.all(value == default))
