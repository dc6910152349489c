"""Writing the report of a fit: checks first, then the work, then the file as a whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import metrics
from ...fusion import FusionResult
from ..helping.result import FusionHelp
from ..overview import Inspection, inspect
from ..subject import as_subject
from .content import ReportContent
from .page import make_page
from .payload import make_payload

SCORES = {"NMI": metrics.nmi, "ACC": metrics.accuracy, "ARI": metrics.ari, "purity": metrics.purity}
N_PAIRS = 200


def write_report(
    path: str | os.PathLike[str],
    fitted: Any,
    *,
    inspection: Inspection | None = None,
    help: FusionHelp | None = None,
    y: ArrayLike | None = None,
    title: str | None = None,
    fdr: float = 0.05,
    sample_names: ArrayLike | None = None,
    notes: Sequence[str] = (),
    command: str | None = None,
    force: bool = False,
    no_help: str = "",
) -> Path:
    """Write what there is to know about a fit as one page: a file of HTML that needs no network.

    Parameters
    ----------
    path : str or path
        The file to write.
    fitted : SimilarityGraphFusion or DistanceGraphFusion
        A fitted model.
    inspection : Inspection, default=None
        What `inspect` found, if it is known already; `fdr` is then that of the inspection.
    help : FusionHelp, default=None
        What `does_fusion_help` found. None: the page says how to get it.
    y : array-like of shape (n,), default=None
        Known classes, for scores.
    title : str, default=None
        Of the page.
    fdr : float, default=0.05
        False discovery rate of the flags; see `sample_conflicts`.
    sample_names : array-like of shape (n,), default=None
        Names of the samples; None: the ids of the data, or their numbers.
    notes : sequence of str, default=()
        Warnings to be listed; empty: those of the fit.
    command : str, default=None
        The shell command that made the fit, to be shown.
    force : bool, default=False
        Whether to replace a file that exists.
    no_help : str, default=""
        Why `does_fusion_help` could not answer, to be shown in its place.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    FileExistsError
        If the file exists, and `force` is False.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection.report import write_report
    >>> data = make_multiview(100, n_clusters=3, separation=5.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "report.html", model, y=data.y)
    ...     page.name, page.stat().st_size < 3_000_000
    ('report.html', True)
    """
    if isinstance(fitted, FusionResult):
        raise TypeError("A report is about a fitted model with clusters; a FusionResult has none.")
    n = as_subject(fitted).n_samples
    target = checked_path(Path(path), force)
    _check_words(fdr, title)
    scores = None if y is None else _scores(y, fitted.labels_)
    if sample_names is not None and np.shape(sample_names) != (n,):
        raise ValueError(
            f"sample_names has shape {np.shape(sample_names)}; there must be one for each of {n} samples."
        )
    found = inspection or inspect(fitted, fdr=fdr, n_pairs=N_PAIRS)
    if found.labels is None or len(found.labels) != n:
        raise ValueError(f"The inspection is not of this fit, which has {n} samples.")
    content = ReportContent(
        model=fitted,
        found=found,
        help=help,
        scores=scores,
        title=title or "One graph from many views: report of a fit",
        notes=tuple(notes) or fitted.warnings_,
        command=command,
        given_names=None if sample_names is None else np.asarray(sample_names),
        no_help=no_help,
    )
    page = make_page(content, make_payload(content))
    _put_in_place(target, page.encode("utf-8", "replace"))
    return target


def checked_path(path: Path, force: bool) -> Path:
    """Return the path if a file can be written there, or say in one line why not."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file, such as {path / 'report.html'}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"The folder {path.parent} cannot be written into.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; pass force=True to replace it.")
    return path


def _check_words(fdr: Any, title: Any) -> None:
    """Refuse what is no rate, and what is no title."""
    if isinstance(fdr, bool) or not isinstance(fdr, Real) or not 0 < float(fdr) < 1:
        raise ValueError(f"fdr must be a number between 0 and 1, got {fdr!r}.")
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be text, got {title!r}.")


def _scores(y: ArrayLike, labels: Any) -> dict[str, float]:
    if np.shape(y) != (len(labels),):
        raise ValueError(
            f"y has shape {np.shape(y)}; there must be one label for each of {len(labels)} samples."
        )
    return {name: score(y, labels) for name, score in SCORES.items()}


def _put_in_place(path: Path, data: bytes) -> None:
    """Write a file under another name, then rename it: it is there as a whole or not at all."""
    scratch = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        scratch.write_bytes(data)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
