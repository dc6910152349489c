import pytest
from tests.engines.names import ENGINES, HOST_ENGINES


@pytest.fixture(params=ENGINES, scope="session")
def engine(request):
    """The name of an engine: of each in turn."""
    return request.param


@pytest.fixture(params=HOST_ENGINES, scope="session")
def host_engine(request):
    """The name of an engine that works in this memory, for tests of what such engines share."""
    return request.param
