"""Where tests find data that is not ours to ship.

Two folders may be named by environment variables, CONSILIENCE_DATA (public multi-view data sets) and
CONSILIENCE_GOLDEN (outputs of the authors' own programs on some of them). Unset, the tests that need them are
skipped and say so; set, an absent file is a failure. Tests of figures skip without matplotlib.
"""

import os
from pathlib import Path

import pytest

from benchmarks.comparison import load


def _folder(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: it names a folder that is not part of the project")
    return Path(value)


@pytest.fixture(scope="session")
def golden():
    """Return the folder with outputs of the authors' own programs."""
    return _folder("CONSILIENCE_GOLDEN")


@pytest.fixture(scope="session")
def dataset():
    """Return a function: name of a data set -> list of views, labels."""
    folder = _folder("CONSILIENCE_DATA")
    return lambda name: load(folder, name)
