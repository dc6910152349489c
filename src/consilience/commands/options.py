"""Settings of the library as options of the command."""

from __future__ import annotations

import argparse
from typing import Any

from ..run.messages import Setting, text_of, written

_OPTIONS = {
    "n_clusters": "--clusters",
    "max_clusters": "--max-clusters",
    "n_neighbors": "--neighbors",
    "view_weights": "--view-weights",
    "row_weights": "--row-weights",
    "descriptions": "--descriptions",
    "effort": "--effort",
    "row_order": "--row-order",
    "scale": "--scale",
    "metric": "--metric",
    "id_column": "--id-column",
    "memory_limit": "--max-memory",
    "max_bytes": "--max-bytes",
    "assign_labels": "--assign-labels",
    "resolution": "--resolution",
}
_WRITTEN = {  # with this value, otherwise
    ("directed", True): "--directed",
    ("directed", False): "--no-directed",
    ("n_jobs", 1): "NUMBA_NUM_THREADS=1",
    ("view_selection", "all"): "--preparation none",
}


def in_options(message: Any, arguments: argparse.Namespace) -> str:
    """Return the text of a warning or an error, its settings as options of the command that was given.

    Examples
    --------
    >>> from consilience.run.messages import Advice
    >>> advice = Advice(Setting("view_weights", "uniform"), " keeps it; see ", Setting("beta"))
    >>> in_options(advice, argparse.Namespace(view_weights="agreement"))
    '--view-weights uniform keeps it; see beta'
    """
    return written(text_of(message), lambda setting: _as_option(setting, arguments))


def _as_option(setting: Setting, arguments: argparse.Namespace) -> str:
    """Return how a user of the command writes a setting; as in Python if it has no such option."""
    if setting.has_value and (setting.parameter, setting.value) in _WRITTEN:
        return _WRITTEN[setting.parameter, setting.value]
    option = _OPTIONS.get(setting.parameter)
    if option is None or option.removeprefix("--").replace("-", "_") not in arguments:
        return str(setting)
    return f"{option} {setting.value}" if setting.has_value else option
