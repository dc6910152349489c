"""The definitions of the paper, and tables invented for them."""

import pytest
from tests.reproduction.invented import Invented

from consilience.reproduction.definitions import load_paper


@pytest.fixture(scope="session")
def paper():
    return load_paper()


@pytest.fixture
def invent(paper):
    """Return what makes tables: of all experiments on some sets, or of one, with changes."""
    return Invented(paper)
