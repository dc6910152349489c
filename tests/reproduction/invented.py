"""Invented tables with the columns of real ones: what is printed in the paper, and simple formulas."""

import numpy as np

METRICS = ("NMI", "ACC", "ARI", "purity")
STAGES = {
    "prepare": 0.02,
    "search": 0.3,
    "connect": 0.04,
    "weigh": 0.06,
    "fuse": 0.08,
    "sparsify": 0.02,
    "embed": 0.18,
    "label": 0.3,
}


class Invented:
    """Tables of all experiments on some sets, or of one of them, with changes."""

    def __init__(self, paper):
        self.paper = paper

    def tables(self, sets=("MSRC_v1", "BBCSport", "3Sources"), side=3):
        paper = self.paper
        return {
            "scores": [score_row(paper, data, name) for data in sets for name in paper.tables["scores"]],
            "times": [times_row(paper, data, name) for data in sets for name in paper.tables["times"]],
            "sensitivity": [row for data in sets for row in self.sensitivity(data, side)],
            "convergence": [row for data in sets for row in self.convergence(data)],
            "complexity": self.complexity(),
            "affinity": affinity_rows(),
            "no-tuning": [row for data in sets for row in untuned_rows(paper, data)],
            "2019": [row for data in sets for row in rows_2019(paper, data)],
            "eigengaps": [row for data in sets for row in eigengap_rows(paper, data)],
        }

    def sensitivity(self, data, side=3, fall=1.0):
        return sensitivity_rows(data, side, fall)

    def convergence(self, data, exact=0.7):
        return convergence_rows(data, exact)

    def complexity(self, exponents=None):
        return complexity_rows(self.paper, exponents)

    def failed(self, row, reason="no memory"):
        """Return a row as it is when the system fails."""
        empty = {key: None for key in row if key.startswith(METRICS) and not key.endswith("_paper")}
        return {**row, **empty, "reason": reason}


def score_row(paper, data, name, change=0.0, **more):
    """Return a row with the paper's scores, or invented ones where it prints none, moved by `change`."""
    row = {"set": data, "system": name, "reason": ""}
    for metric in METRICS:
        printed = paper.score(data, name, metric)
        ours = (printed.mean if printed else 60.0 + 3 * len(name) + len(metric)) + change
        row |= {metric: ours, f"{metric}_std": 0.5}
        row[f"{metric}_paper"] = printed.mean if printed else None
        row[f"{metric}_difference"] = change if printed else None
    parameters = dict.fromkeys(paper.systems[name].tuned, 1.0)
    return {**row, "parameters": parameters, "seeds": [0, 1], **more}


def times_row(paper, data, name):
    printed = paper.seconds(data, name)
    seconds = printed.mean if printed else 0.1 * (1 + len(name))
    return {
        "set": data,
        "system": name,
        "reason": "",
        "seconds": seconds,
        "seconds_std": 0.05 * seconds,
        "paper": printed.mean if printed else None,
        "stages": dict(STAGES),
        "parameters": {},
        "seeds": [0],
        "ratio_to_fastest": 1.5,
        "paper_ratio_to_fastest": 1.5 if printed else None,
    }


def sensitivity_rows(data, side=3, fall=1.0):
    """Return a surface of NMI per method that falls by `fall` from beta = 1 to the ends of the grid."""
    exponents = np.linspace(-5, 5, side).round().astype(int).tolist()
    return [
        {
            "set": data,
            "system": name,
            "reason": "",
            "beta": 10.0**beta,
            "gamma": 10.0**gamma,
            **{metric: 80.0 - fall * abs(beta) / 5 - 0.1 * (gamma == 5) for metric in METRICS},
            "rounds": 5 + (gamma > 4),
            "inconsistent": 0.2 if gamma < 0 else 1e-4,
            "largest_contribution": 0.3,
            "seeds": [0],
        }
        for name in ("SGF", "DGF")
        for beta in exponents
        for gamma in exponents
    ]


def convergence_rows(data, exact=0.7):
    """Return curves that fall quickly, and then, by exact steps, to `exact` of the start at gamma = 1e4."""
    rows = []
    for name in ("SGF", "DGF"):
        for gamma in (1e4, 1.0):
            fast = 1e-5 * (0.9 + 0.1 * 0.2 ** np.arange(21))
            end = exact if gamma > 1 else 0.9
            for solver in ("dca", "exact"):
                curve = fast if solver == "dca" else [*fast, 1e-5 * end, 1e-5 * end]
                rows += [
                    {
                        "set": data,
                        "system": name,
                        "solver": solver,
                        "beta": 1.0,
                        "gamma": gamma,
                        "round": number,
                        "objective": float(objective),
                        "stopped_at": 5,
                        "seeds": [0],
                    }
                    for number, objective in enumerate(curve)
                ]
    return rows


def complexity_rows(paper, exponents=None):
    rows = []
    for factor in paper.experiments.complexity.factors:
        exponent = (exponents or {}).get(factor.name, factor.exponent)
        for size in factor.sizes:
            rows.append(
                {
                    "factor": factor.name,
                    **size,
                    "seconds": 0.01 * (size[factor.name] / min(factor.values)) ** exponent,
                    "paper_exponent": factor.exponent,
                    "seeds": [0],
                    "exponent": exponent,
                    "exponent_error": 0.03,
                }
            )
    return rows


def affinity_rows():
    """Return pictures of 12 samples in 3 classes: three views, then their fusion."""
    truth = np.repeat([0, 1, 2], 4)
    blocks = (truth[:, None] == truth).astype(float)
    rows = []
    for number, title in enumerate(("view a", "view b", "view <c>", "SGF")):
        noise = [0.3, 0.4, 0.9, 0.05][number]
        labels = np.roll(truth, number % 3)
        rows.append(
            {
                "set": "UCI_Digits",
                "title": title,
                "pixels": (blocks * (1 - noise) + noise / 3).tolist(),
                "weight_between_classes": noise / 2,
                "labels": labels.tolist(),
                "truth": truth.tolist(),
                **dict.fromkeys(METRICS, 100.0 - 20 * (number % 3)),
                "seeds": [0],
            }
        )
    return rows


def untuned_rows(paper, data):
    n_views = paper.sets[data].n_views
    return [
        {
            **score_row(paper, data, name, change=-1.0 if k == 6 else -4.0),
            "n_neighbors": k,
            "parameters": {"beta": 1.0, "gamma": 1e4},
            "scales": np.linspace(0.95, 1.05, n_views).__truediv__(n_views).tolist(),
            "inconsistent": np.linspace(1e-5, 2e-4, n_views).tolist(),
        }
        for name in ("SGF", "DGF")
        for k in (6, 20)
    ]


def rows_2019(paper, data):
    rows = []
    for new in ("SGF", "DGF"):
        row = score_row(paper, data, new)
        rows.append({**row, **{f"{metric}_gain": 3.0 for metric in METRICS}})
        old = {**row, "system": f"{new}-0", **{f"{metric}_gain": None for metric in METRICS}}
        for metric in METRICS:
            old |= {metric: row[metric] - 3.0, f"{metric}_paper": None, f"{metric}_difference": None}
        rows.append(old)
    return rows


def eigengap_rows(paper, data):
    names = [f"view {i}" for i in range(paper.sets[data].n_views)] + ["SGF", "DGF"]
    return [
        {"set": data, "graph": name, "eigengap": 0.01 * (i + 1), "seconds": 0.02 / (i + 1), "seeds": [0]}
        for i, name in enumerate(names)
    ]
