"""Which engines tests run on: all of them, or those whose handles are arrays of this process."""

from importlib.util import find_spec

import pytest

from consilience.engines import Engine, engine_names, get_engine
from consilience.engines.host import HostEngine

WITHOUT_TORCH = pytest.mark.skipif(
    find_spec("torch") is None, reason="needs the extra 'gpu': consilience[gpu]"
)
ENGINES = [pytest.param(name, marks=WITHOUT_TORCH if name == "torch" else ()) for name in engine_names()]
HOST_ENGINES = tuple(name for name in engine_names() if name != "torch")


def test_host_engines():
    engines = [get_engine(name) for name in HOST_ENGINES]
    assert all(isinstance(engine, HostEngine) for engine in engines)
    assert all(isinstance(engine, Engine) for engine in engines)
