"""Make the golden files beside this script: SGF and DGF written out in plain dense NumPy, step by step.

Nothing of the library's numerical code is used, only its two bundled data sources, so that a test against
these files compares two independent programs. Run from the root of the repository:

    python tests/golden/make_golden.py
"""

from pathlib import Path

import numpy as np

from consilience import load_digits_views, make_multiview

K, MIN_ROUNDS, TOL, DCA_STEPS = 6, 5, 0.05, 3


def sources():
    """Return name -> (list of views, number of clusters)."""
    digits, _ = load_digits_views(return_X_y=True)
    planted = make_multiview(150, n_views=4, n_clusters=3, separation=4.5, scrambled=0.1, random_state=7)
    return {
        "digits": ([view[:300] for view in digits.values()], 10),
        "planted": (list(planted.views.values()), 3),
    }


def shared_edges(all_squared):
    """Return the union over views of each sample's K nearest others, row by row."""
    n = len(all_squared[0])
    chosen = np.zeros((n, n), dtype=bool)
    for squared in all_squared:
        for i, row in enumerate(squared):
            # Sorting is stable, so of equally near samples the first comes first.
            nearest = [j for j in np.argsort(row.round(12), kind="stable") if j != i][:K]
            chosen[i, nearest] = True
    return np.nonzero(chosen)


def edge_weights(squared_on_edges, method):
    x = np.maximum((squared_on_edges - squared_on_edges.mean()) / squared_on_edges.std(ddof=1) + 1, 0)
    if method == "DGF":
        return x
    sigma = np.sqrt(x).mean()
    return np.exp(-x / (2 * sigma**2))


def fuse(W, beta, gamma):
    """Algorithm 3 with lambda = 1; return alpha, s, A and the objective per round."""
    v = len(W)
    W = W / W.sum(axis=1, keepdims=True)
    A, alpha = W.copy(), np.full(v, 1 / v)
    s = alpha @ A / v
    B = np.full((v, v), gamma) + (beta - gamma) * np.eye(v)

    def objective():
        E = alpha[:, None] * (W - A)
        return ((alpha[:, None] * A - s) ** 2).sum() + (B * (E @ E.T)).sum()

    history = [objective()]
    while True:
        # alpha: the sum constraint as a bordered linear system, as in the authors' program.
        H = 2 * (np.diag((A**2).sum(axis=1)) + B * ((W - A) @ (W - A).T))
        system = np.block([[H, np.ones((v, 1))], [np.ones((1, v)), np.zeros((1, 1))]])
        alpha = np.linalg.solve(system, np.append(2 * A @ s, 1.0))[:v]
        assert alpha.min() > 0, "left the simplex: choose another example"
        history.append(objective())
        t = len(history) - 1
        if t >= MIN_ROUNDS and history[t - 1] - history[t] < TOL * (history[0] - history[t]):
            return alpha, s, A, np.array(history)
        s = alpha @ A / v
        hessian = 2 * (np.diag(alpha**2) + B * np.outer(alpha, alpha))
        linear = 2 * (np.outer(alpha, s) + (B * np.outer(alpha, alpha)) @ W)
        rho = np.linalg.eigvalsh(hessian)[-1]
        for _ in range(DCA_STEPS):
            A = np.clip(((rho * np.eye(v) - hessian) @ A + linear) / rho, 0, W)


def unified_graph(rows, columns, s, n):
    graph = np.zeros((n, n))
    graph[rows, columns] = s
    for row in graph:
        row[np.argsort(-row, kind="stable")[K:]] = 0
    return (graph + graph.T) / 2


def laplacian_eigenvalues(graph):
    scale = 1 / np.sqrt(graph.sum(axis=1))
    return np.linalg.eigvalsh(np.eye(len(graph)) - scale[:, None] * graph * scale)


def make(views, n_clusters, method, beta, gamma):
    all_squared = [((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2) for x in views]
    rows, columns = shared_edges(all_squared)
    W = np.stack([edge_weights(squared[rows, columns], method) for squared in all_squared])
    alpha, s, A, history = fuse(W, beta, gamma)
    similarity = s if method == "SGF" else np.exp(-s / (2 * s.mean()))
    graph = unified_graph(rows, columns, similarity, len(views[0]))
    return {
        "beta_gamma": np.array([beta, gamma]),
        "n_clusters": np.array(n_clusters),
        "rows": rows.astype(np.int16),
        "columns": columns.astype(np.int16),
        "alpha": alpha,
        "history": history,
        "fused": s,
        "consistent_sums": A.sum(axis=1),
        "graph_sums": graph.sum(axis=1),
        "eigenvalues": laplacian_eigenvalues(graph)[: n_clusters + 2],
    }


def main():
    for name, (views, n_clusters) in sources().items():
        for method in ("SGF", "DGF"):
            for label, beta, gamma in (("default", 1.0, 100.0), ("small", 0.1, 1.0)):
                arrays = make(views, n_clusters, method, beta, gamma)
                np.savez_compressed(Path(__file__).with_name(f"{name}_{method}_{label}.npz"), **arrays)


if __name__ == "__main__":
    main()
