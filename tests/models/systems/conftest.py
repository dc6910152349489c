"""What tests of several systems share."""

import pytest
from scipy import sparse


@pytest.fixture(scope="session")
def golden_graphs(golden):
    """Return a function: name of a data set -> its views' graphs that the authors' programs start from."""

    def load(name):
        stored = golden(f"systems/{name}_graphs")
        n, view = stored["neighbours"].shape[1], stored["graph_view"]
        places = stored["graph_rows"], stored["graph_cols"]
        return [
            sparse.csr_array(
                (stored["graph_values"][view == i], (places[0][view == i], places[1][view == i])),
                shape=(n, n),
            )
            for i in range(view.max() + 1)
        ]

    return load
