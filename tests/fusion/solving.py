"""Problems of the model, posed to and solved by an engine."""

import warnings

from consilience import fusion
from consilience.engines import get_engine
from consilience.fusion import Schedule, learn_consistent_graph


def pose(weights, *, engine="numba", **given):
    return fusion.pose(weights, engine=get_engine(engine), **given)


def solve(problem, engine="numba", **schedule):
    """Run the alternation, and return the result with arrays."""
    engine = get_engine(engine)
    return learn_consistent_graph(problem, Schedule(**schedule), engine).fetched(engine)


def learn(problem, engine="numba", **schedule):
    """Run it without warnings, which have tests of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(problem, engine, **schedule)
