import pytest

from consilience.engines import engine_names


@pytest.fixture(params=engine_names(), scope="session")
def engine(request):
    """The name of an engine: of each in turn."""
    return request.param
