"""Systems that misbehave, in a module of their own: processes that do the work import it."""

import os
import time

import numpy as np


def cut(views, n_clusters):
    """Return clusters by the first feature."""
    ranks = np.argsort(np.argsort(np.asarray(views[0])[:, 0]))
    return ranks * n_clusters // len(ranks)


class Cutting:
    """Takes a list of arrays."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit_predict(self, views):
        return self.find(views)

    def find(self, views):
        return cut(views, self.n_clusters)


class Hanging(Cutting):
    def find(self, views):
        time.sleep(600 if len(views[0]) > 50 else 0)  # not in the fit that warms up
        return super().find(views)


class Greedy(Cutting):
    def find(self, views):
        held = [np.ones(1 << 22) for _ in range(100 if len(views[0]) > 50 else 0)]  # 3 GiB in small steps
        time.sleep(5 if held else 0)
        return super().find(views)


class Crashing(Cutting):
    def find(self, views):
        os.kill(os.getpid(), 11)


class Leaving(Cutting):
    def find(self, views):
        raise SystemExit("I am off.")


class Short(Cutting):
    def find(self, views):
        return super().find(views)[:-1]


class Unfit:
    """Has neither fit nor fit_predict."""


class Slow(Cutting):
    """Takes a fifth of a second."""

    def find(self, views):
        time.sleep(0.2 if len(views[0]) > 50 else 0)
        return super().find(views)


class Printing(Cutting):
    def find(self, views):
        print("Iteration 1 of 1000: all is well")
        return super().find(views)


CALLS = []


class Counting(Cutting):
    """Notes how many samples each fit had."""

    def find(self, views):
        CALLS.append(len(views[0]))
        return super().find(views)


class Writing(Cutting):
    """Writes into what it is given."""

    def find(self, views):
        found = super().find(views)
        for view in views:
            view[...] = 0
        return found


class Drawing(Cutting):
    """Draws from the global generator."""

    def find(self, views):
        return np.random.randint(self.n_clusters, size=len(views[0]))  # noqa: NPY002
