"""The embedding of a graph that was made to fall into as many components as clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ...engines import Engine
from ...engines.embedding import unit_rows
from ...stages.embed import SpectralEmbedding, embed


def embed_components(
    graph: sparse.csr_array, n_clusters: int, random_state: np.random.RandomState, *, engine: Engine
) -> SpectralEmbedding:
    """Return the spectral embedding of a graph, rows of unit length.

    As many components as clusters are what was looked for; only more of them are worth a warning.
    """
    too_many = connected_components(graph, directed=False)[0] > n_clusters
    found = embed(engine.adopt(graph), n_clusters, random_state, engine=engine, warn_disconnected=too_many)
    return replace(found, vectors=unit_rows(engine.fetch(found.vectors)))
