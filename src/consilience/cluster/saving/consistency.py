"""Whether what was read from a file hangs together: compiled code would follow any index anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def require(condition: Any, told: str) -> None:
    """Raise a ValueError that says what is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(told)


def check_rows(indptr: Any, indices: Any, n_rows: int, n_columns: int) -> None:
    """Raise a ValueError unless these are the compressed rows of a matrix of this shape."""
    for part in (indptr, indices):
        require(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "i", "no rows")
    require(len(indptr) == n_rows + 1 and indptr[0] == 0, "its rows do not begin where they should")
    require(indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all(), "its rows do not add up")
    require(_within(indices, n_columns), "it has an index out of range")


def check_edges(edges: Any) -> None:
    """Raise a ValueError unless this is an `EdgeSet` as they are made."""
    check_rows(edges.indptr, edges.indices, len(edges.indptr) - 1, len(edges.indptr) - 1)
    if edges.seen is not None:
        require(_is_array(edges.seen, "b", 2) and edges.seen.shape[1] == edges.n_edges, "`seen` does not fit")


def check_fusion(fusion: Any) -> None:
    """Raise a ValueError unless the arrays of a `FusionResult` are of the same views and edges."""
    shape = fusion.weights_by_view.shape
    require(len(shape) == 2 and fusion.fused.shape == shape[1:], "its edges do not fit")
    for name, kind in (("weights_by_view", "f"), ("inconsistent_by_view", "f"), ("trust_by_view", "f")):
        part = getattr(fusion, name)
        fits = part is None or (_is_array(part, kind, 2) and part.shape == shape)
        require(fits, f"`{name}` does not fit")
    seen = fusion.seen_by_view
    require(seen is None or (_is_array(seen, "b", 2) and seen.shape == shape), "`seen_by_view` does not fit")
    require(fusion.edges is None or fusion.edges.n_edges == shape[1], "its edges do not fit")
    # New samples go through as many rounds.
    require(_is_count(fusion.n_iter, 0, len(fusion.history) - 1), "its rounds do not fit")
    require(
        len(fusion.view_names) == len(fusion.view_weights) == len(fusion.view_scales) == shape[0], "views"
    )


def check_features(space: Any) -> None:
    """Raise a ValueError unless a space of dense features is one row of numbers per sample."""
    require(_is_array(space.x, "f", 2), "its features are no matrix of numbers")
    require(_is_array(space.blank, "b", 1) and len(space.blank) == len(space.x), "`blank` does not fit")


def check_sparse_features(space: Any) -> None:
    """Raise a ValueError unless a space of sparse features is one row of numbers per sample."""
    require(sparse.issparse(space.x) and space.x.dtype.kind == "f", "its features are no sparse numbers")
    require(_is_array(space.blank, "b", 1) and len(space.blank) == space.x.shape[0], "`blank` does not fit")


def check_cells(space: Any) -> None:
    """Raise a ValueError unless a space of cells knows a range for each column."""
    require(_is_array(space.x, "f", 2), "its cells are no matrix of numbers")
    for name in ("lowest", "highest", "ranges"):
        part = getattr(space, name)
        require(_is_array(part, "f", 1) and len(part) == space.x.shape[1], f"`{name}` does not fit")


def check_square(space: Any) -> None:
    """Raise a ValueError unless a space is a matrix between the samples."""
    n, m = space.matrix.shape
    require(n == m and space.matrix.dtype.kind == "f", "it is no square matrix of numbers")


def check_seen(space: Any) -> None:
    """Raise a ValueError unless a space within a space has as many samples as are said to be seen."""
    require(_is_array(space.seen, "b", 1), "`seen` does not fit")
    # A view that has seen nobody is a space of one sample.
    require(n_samples_of(space.space) == max(int(space.seen.sum()), 1), "`seen` does not fit")


def n_samples_of(space: Any) -> int:
    """Return the number of samples of a space, whichever it is."""
    if hasattr(space, "seen"):
        return len(space.seen)
    return int((space.x if hasattr(space, "x") else space.matrix).shape[0])


def check_model(model: Any) -> None:
    """Raise a ValueError unless the fitted attributes are about the same samples, as far as indices go."""
    labels = model.labels_
    require(_is_array(labels, "i", 1), "labels_ is not one label for each sample")
    n = len(labels)
    require(_within(labels, n), f"labels_ are not those of clusters of {n} samples")
    k = getattr(model, "n_neighbors_", None)
    require(k is None or _is_count(k, 1, n - 1), f"n_neighbors_ is no number of neighbours among {n} samples")
    graph = getattr(model, "graph_", None)
    require(graph is None or graph.shape == (n, n), f"graph_ is not a graph of {n} samples")
    ids = getattr(model, "sample_ids_", None)
    require(ids is None or ids.shape == (n,), f"sample_ids_ does not name {n} samples")
    for lists in getattr(model, "neighbors_", ()):
        fits = lists is None or (_is_array(lists, "i", 2) and len(lists) == n and _within(lists, n))
        require(fits, f"neighbors_ does not list neighbours among {n} samples")
    fusion = getattr(model, "fusion_", None)
    require(fusion is None or fusion.edges.n_samples == n, f"fusion_ is not about {n} samples")
    placement = getattr(model, "_placement", None)
    if placement is not None:
        _check_placement(placement, n, None if fusion is None else len(fusion.view_names))


def _check_placement(placement: Any, n: int, n_views: int | None) -> None:
    """Raise a ValueError unless new samples can be compared with those of the fit, view by view."""
    require(n_views is None or len(placement.views) == n_views, f"_placement is not about {n_views} views")
    for view in placement.views:
        require(n_samples_of(view.space) == n, f"_placement is not about {n} samples")
        known = _is_count(view.number, 0, len(placement.forms) - 1)
        require(known, "_placement has a view that was not there")
        form = placement.forms[view.number]
        fits = _n_features_of(view.space) == form.n_features
        require(fits, f"_placement is not about the features of {form.name!r}")


def _n_features_of(space: Any) -> int:
    if hasattr(space, "seen"):  # between those seen there are fewer distances than between all
        return len(space.seen) if space.pairwise else _n_features_of(space.space)
    return int((space.x if hasattr(space, "x") else space.matrix).shape[1])


def _is_count(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_array(value: Any, kind: str, ndim: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == kind and value.ndim == ndim


def _within(indices: NDArray[Any], bound: int) -> bool:
    return not indices.size or bool(indices.min() >= 0 and indices.max() < bound)
