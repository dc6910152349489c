"""Settings of the library as options of the command."""

from __future__ import annotations

from ..run.advice import Setting

_OPTIONS = {
    "n_clusters": "--clusters",
    "max_clusters": "--clusters",
    "n_neighbors": "--neighbors",
    "view_weights": "--view-weights",
    "row_weights": "--row-weights",
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
}


def as_option(setting: Setting) -> str:
    """Return how a user of the command writes a setting.

    Examples
    --------
    >>> as_option(Setting("view_weights", "uniform")), as_option(Setting("directed", False))
    ('--view-weights uniform', '--no-directed')
    """
    if setting.has_value and (setting.parameter, setting.value) in _WRITTEN:
        return _WRITTEN[setting.parameter, setting.value]
    option = _OPTIONS.get(setting.parameter)
    if option is None:
        return str(setting)
    return f"{option} {setting.value}" if setting.has_value else option
