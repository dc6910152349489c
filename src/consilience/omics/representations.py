"""Views from AnnData and MuData."""

from __future__ import annotations

from typing import Any

from ..views import Views
from ..views.annotated import gather


def views_of(data: Any, use_rep: Any = None) -> Views:
    """Return the views in an AnnData or MuData.

    Parameters
    ----------
    data : AnnData or MuData
        The samples are its cells, ``data.obs_names``, in that order. Of a MuData, each modality is a view; a
        cell that a modality lacks has not been seen by that view. Of an AnnData, each representation that
        `use_rep` names is a view. What is still in a file is read.
    use_rep : str, dict or (for an AnnData) sequence of str, default=None
        Which representation to take: ``"X"``, a key of ``obsm`` such as ``"X_pca"``, or, with its place,
        ``"obsm/<key>"`` or ``"layers/<name>"``.

        - None: ``"X_pca"`` where there is one, else X.
        - A str: this one, in every modality.
        - A dict: of a MuData, one for each modality that is named, the others as with None; of an AnnData,
          its keys name the views: ``{"rna": "X_pca", "protein": "protein_expression"}``.
        - A sequence: several of an AnnData, each a view of that name.

    Returns
    -------
    Views

    Raises
    ------
    ValueError
        If there is no such representation (the message lists those that are there), if a cell name occurs
        twice, or if modalities share variables instead of cells.

    See Also
    --------
    consilience.omics.write : The way back.

    Examples
    --------
    >>> import mudata, anndata, numpy, pandas  # doctest: +SKIP
    >>> cells = pandas.DataFrame(index=["a", "b", "c"])  # doctest: +SKIP
    >>> rna = anndata.AnnData(numpy.eye(3), obs=cells)  # doctest: +SKIP
    >>> protein = anndata.AnnData(numpy.eye(2), obs=cells[1:])  # doctest: +SKIP
    >>> views_of(mudata.MuData({"rna": rna, "protein": protein}))  # doctest: +SKIP
    Views(3 samples: 'rna' 3 x 3 float64, 'protein' 3 x 2 float64, 33% missing)
    """
    found = gather(data, use_rep)
    views = Views(list(found.arrays), names=list(found.names), sample_ids=found.sample_ids, mask=found.mask)
    views.columns = tuple(
        have if names is None else names
        for have, names in zip(views.columns, found.feature_names, strict=True)
    )
    return views
