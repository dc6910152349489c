"""k-means on the rows of an embedding, by scikit-learn, for engines that work in this memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from . import threads
from .embedding import unit_rows
from .results import Clusters

FloatArray = npt.NDArray[np.float64]
Many = Callable[[FloatArray, int, int, int, bool, Any], Clusters]


def kmeans(
    vectors: FloatArray,
    n_clusters: int,
    *,
    n_init: int,
    max_iter: int,
    unit: bool,
    random_state: Any,
    many: Many | None = None,
    n_many: float = np.inf,
) -> Clusters:
    """Cluster the rows; see `Engine.kmeans`.

    `many` is the engine's own function for more than `n_many` rows, none of them 0.
    """
    represented = vectors.any(axis=1)
    k = min(n_clusters, int(represented.sum()))
    labels = np.zeros(len(vectors), dtype=np.intp)
    if not k:
        return Clusters(labels, np.zeros((1, vectors.shape[1])))
    with threads.libraries_on_one_thread(), warnings.catch_warnings():
        # Too few distinct rows: the caller warns once.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if many is not None and len(vectors) > n_many:
            shown = vectors if represented.all() else vectors[represented]
            found = many(shown, k, n_init, max_iter, unit, random_state)
            labels[represented], centers = found.labels, found.centers
            # Rows of zeros are as near to a centre as the centre is to 0.
            labels[~represented] = np.linalg.norm(centers, axis=1).argmin()
        else:
            rows = unit_rows(vectors) if unit else np.array(vectors, dtype=np.float64, order="C")
            # Until nothing changes: it costs nothing here.
            model = KMeans(k, n_init=n_init, max_iter=max_iter, tol=0.0, random_state=random_state)
            labels[represented] = model.fit_predict(rows[represented])
            centers = model.cluster_centers_
            if not represented.all():
                labels[~represented] = model.predict(rows[~represented])
    return Clusters(labels, centers)
