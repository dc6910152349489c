"""What share of the time of a fit each stage will be, to tell the time left.

Rough, and only the shares matter: the pace is learned from the stages that are done. The numbers are seconds
on one core of a machine of 2024.
"""

from __future__ import annotations

from .sizes import FitSize


def expected_costs(size: FitSize, n_init: int = 3) -> list[tuple[str, float]]:
    """Return the name and the cost of each stage, in order.

    Examples
    --------
    >>> from consilience.cluster.sizes import FitSize, ViewSize
    >>> [stage for stage, _ in expected_costs(FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5))]
    ['prepare', 'neighbors', 'neighbors', 'agreement', 'graph', 'fusion', 'sparsify', 'spectral', 'labels']
    """
    n, v = size.n_samples, size.n_views
    values = [view.n_values(n) for view in size.views]
    costs = [("prepare", 5e-9 * sum(values))]
    for view, stored in zip(size.views, values, strict=True):
        if size.may_search_some:
            costs.append(("neighbors", 2.5e-5 * n * (1 + view.n_features / 100)))
        else:
            costs.append(("neighbors", 6e-11 * n * (stored + 60 * n)))
    if size.method == "fusion":
        costs += [("agreement", 1.5e-7 * size.n_listed)]
    costs += [("graph", 2.5e-9 * size.n_edges * sum(values) / n)]
    costs += [("fusion", (2.4e-7 if size.method == "fusion" else 2e-8) * size.n_edges * v)]
    costs += [("sparsify", 1e-7 * size.n_kept)]
    costs += [("spectral", 1.5e-6 * n * size.n_vectors), ("labels", 4e-7 * n_init * n * size.n_vectors)]
    return costs
