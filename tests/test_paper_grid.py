"""The grid of beta and gamma that `consilience reproduce` runs, next to the authors' program and paper."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from consilience.reproduction.definitions import load_paper
from consilience.reproduction.plan import Plan
from consilience.reproduction.running import Workers, run
from consilience.reproduction.store import Store
from consilience.reproduction.work import Laboratory

SETS = ("MSRC_v1", "BBCSport", "3Sources", "UCI_Digits")
SYSTEMS = ("SGF", "DGF")


@pytest.fixture(scope="module")
def searched(dataset, golden, tmp_path_factory):
    """Return the plan and the store of the whole search, and of ten runs at its best points."""
    folder = Path(os.environ["CONSILIENCE_DATA"])
    paper = load_paper()
    plan = Plan(paper, SETS, paper.experiments.grid, tuple(range(paper.experiments.n_runs)), 1)
    store = Store(tmp_path_factory.mktemp("results"), {})
    lab = Laboratory(tuple((name, folder / f"{name}.mat") for name in SETS))
    both = [(name, one) for name in SETS for one in SYSTEMS]
    with Workers(2) as workers:
        run([work for name, one in both for work in plan.grid_work(name, one)], store, lab, workers=workers)
        run([plan.runs_at_best(store, name, one) for name, one in both], store, lab, workers=workers)
    return plan, store


def test_95_percent_of_the_points_are_within_a_point_of_the_authors_program(searched):
    plan, store = searched
    with (Path(os.environ["CONSILIENCE_GOLDEN"]) / "fusion_grid.csv").open(newline="") as file:
        theirs = {
            (row["dataset"], row["method"], float(row["beta"]), float(row["gamma"])): 100 * float(row["nmi"])
            for row in csv.DictReader(file)
        }
    differences = np.array(
        [
            abs(row["NMI"] - theirs[name, one, row["beta"], row["gamma"]])
            for name in SETS
            for one in SYSTEMS
            for work in plan.grid_work(name, one)
            for row in store.get(work)
        ]
    )
    assert len(differences) == len(theirs) == 121 * 8
    assert np.mean(differences <= 1) >= 0.95


@pytest.mark.parametrize("name", ["MSRC_v1", "BBCSport", "UCI_Digits"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_papers_row_in_all_four_scores(searched, name, system):
    plan, store = searched
    rows = store.get(plan.runs_at_best(store, name, system))
    assert len(rows) == 10
    for metric in plan.paper.experiments.metrics:
        printed = plan.paper.score(name, system, metric)
        assert np.mean([row[metric] for row in rows]) == pytest.approx(printed.mean, abs=0.5)
