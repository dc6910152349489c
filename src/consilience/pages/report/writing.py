"""Writing the report of a fit: checks first, then the work, then the file as a whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ...fusion import FusionResult
from ...inspection.fusion_help import FusionHelp, fusion_help_for
from ...inspection.overview import Inspection, inspect
from ...inspection.samples import check_rate
from ...inspection.subject import as_subject, check_labels
from ...io.files import checked_path, put_in_place
from ...metrics import scores
from .content import ReportContent
from .page import make_page
from .recipe import DEFAULT_FDR
from .section import Section
from .sections import SECTIONS

N_PAIRS = 200
EXAMPLE = "report.html"  # what a page might be called


def write_report(
    path: str | os.PathLike[str],
    fitted: Any,
    *,
    views: Any = None,
    y: ArrayLike | None = None,
    fdr: float = DEFAULT_FDR,
    title: str | None = None,
    sample_names: ArrayLike | None = None,
    inspection: Inspection | None = None,
    fusion_help: FusionHelp | str | None = None,
    notes: Sequence[str] = (),
    command: str | None = None,
    sections: Sequence[Section] = SECTIONS,
    force: bool = False,
) -> Path:
    """Write what there is to know about a fit as one page: a file of HTML that needs no network.

    Parameters
    ----------
    path : str or path
        The file to write.
    fitted : SimilarityGraphFusion or DistanceGraphFusion
        A fitted model.
    views : as for `fit`, default=None
        The data of the fit, to say whether fusing helps: each view is then clustered alone, too, which takes
        about as long as some fits. None leaves that out.
    y : array-like of shape (n,), default=None
        Known classes, for scores.
    fdr : float, default=0.05
        False discovery rate of the flags; see `sample_conflicts`.
    title : str, default=None
        Title of the page.
    sample_names : array-like of shape (n,), default=None
        Names of the samples; None: the ids of the data, or their numbers.
    inspection : Inspection, default=None
        What `inspect` found, if it is known already; then `fdr` is that of it.
    fusion_help : FusionHelp or str, default=None
        What `does_fusion_help` found, or why it could not answer, if that is known already.
    notes : sequence of str, default=()
        Warnings to be listed; empty: those of the fit.
    command : str, default=None
        The shell command that made the fit, to be shown.
    sections : sequence of Section, default=SECTIONS
        What the page shows, in order; add your own, or leave some out.
    force : bool, default=False
        Whether to replace a file that exists.

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
    >>> from consilience.pages.report import write_report
    >>> data = make_multiview(100, n_clusters=3, separation=5.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "report.html", model, y=data.y)
    ...     page.name, page.stat().st_size < 3_000_000
    ('report.html', True)
    """
    if isinstance(fitted, FusionResult):
        raise TypeError("A report is about a fitted model with clusters; a FusionResult has none.")
    subject = as_subject(fitted, sample_names=sample_names)
    n = subject.n_samples
    target = checked_path(path, force, EXAMPLE)
    check_rate(fdr)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be text, got {title!r}.")
    if y is not None:
        check_labels(y, n, "y")
    if views is not None and fusion_help is None:
        fusion_help = fusion_help_for(fitted, views, y)
    if inspection is None:
        inspection = inspect(fitted, fdr=fdr, n_pairs=N_PAIRS, sample_names=sample_names)
    elif inspection.labels is None or len(inspection.labels) != n:
        raise ValueError(f"The inspection is not of this fit, which has {n} samples.")
    elif sample_names is not None:
        inspection = replace(inspection, sample_names=subject.sample_names)
    content = ReportContent(
        model=fitted,
        found=inspection,
        fusion_help=fusion_help,
        scores=None if y is None else scores(y, fitted.labels_),
        title=title or "One graph from many views: report of a fit",
        notes=tuple(notes) or fitted.warnings_,
        command=command,
    )
    page = make_page(content, sections)
    with put_in_place(target) as scratch:
        scratch.write_bytes(page.encode("utf-8", "replace"))
    return target
