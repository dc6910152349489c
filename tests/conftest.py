"""Where tests find data that is not ours to ship, and the only place where a test may skip.

Two folders may be named by environment variables. Unset, the tests that need them are skipped and say so;
set, an absent file is a failure. Tests of readers skip where the optional packages they need are absent
(`pip install 'consilience[files]'`), those of graphs without networkx, igraph or polars, those of figures
without matplotlib (`'consilience[plot]'`), those of cells without AnnData and MuData
(`'consilience[h5mu]'`) or scanpy, umap-learn and igraph, those of the engine of PyTorch without it
(`'consilience[gpu]'`; which engines tests run on is in `engines/names.py`), the build of the documentation
without Sphinx, those that open pages without CONSILIENCE_BROWSER or Playwright (see `browser/conftest.py`),
tests of CPU affinity and of peak memory where the system does not tell, and those of products of bytes where
the processor has none.

====================  ==================================================================
CONSILIENCE_DATA      public multi-view data sets (.mat, .npz)
CONSILIENCE_GOLDEN    outputs of the authors' own programs on some of them (.npz, .csv)
====================  ==================================================================

Drawn examples (Hypothesis) are the same in every run, so that a run can be repeated;
`--hypothesis-profile=explore` draws others.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy import io, sparse

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("repeatable")


def _folder(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: it names a folder that is not part of the project")
    return Path(value)


@pytest.fixture(scope="session")
def golden():
    """Return a function: name of a file in the golden folder without its ending -> its arrays."""
    folder = _folder("CONSILIENCE_GOLDEN")
    return lambda name: dict(np.load(folder / f"{name}.npz", allow_pickle=False))


@pytest.fixture(scope="session")
def dataset():
    """Return a function: name of a data set -> list of views, labels."""
    folder = _folder("CONSILIENCE_DATA")

    def load(name):
        if (folder / f"{name}.npz").exists():
            arrays = np.load(folder / f"{name}.npz", allow_pickle=False)
            return [arrays[f"X{i}"] for i in range(len(arrays.files) - 1)], arrays["y"]
        content = io.loadmat(folder / f"{name}.mat")
        views = [sparse.csr_array(view) if sparse.issparse(view) else view for view in content["fea"].ravel()]
        return views, content["gt"].ravel()

    return load
