"""The package as a whole: what it exports, what importing it costs, what it promises to run on."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import consilience

ROOT = Path(__file__).parents[1]


def test_public_names_exist_and_are_documented():
    for name in consilience.__all__:
        value = getattr(consilience, name)
        assert name in ("PAPER", "__version__") or len(value.__doc__) > 40, name


def test_importing_loads_no_optional_or_heavy_module():
    heavy = [
        "pandas",
        "matplotlib",
        "sklearn.datasets",
        "pynndescent",
        "anndata",
        "torch",
        "dask",
        "networkx",
    ]
    # scikit-learn itself imports pandas where it is installed, so what counts is what we add to it.
    program = (
        "import sys, sklearn.cluster, scipy.sparse.linalg, numba; before = set(sys.modules); "
        f"import consilience; print([m for m in {heavy} if m in sys.modules and m not in before])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_oldest_versions_tested_are_the_lowest_ones_promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = {}
    for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
        name, lowest = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups()
        promised[name] = lowest
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "requirements-oldest.txt").read_text(), re.M))
    assert set(promised) == set(pinned)
    for name, lowest in promised.items():
        assert re.match(re.escape(lowest) + r"(\.|$)", pinned[name]), (name, lowest, pinned[name])


def test_no_upper_pins():
    assert "<" not in "".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: path.stem)
def test_the_library_neither_prints_nor_unpickles_nor_seeds_the_world(path):
    text = path.read_text()
    for forbidden in (r"^\s*print\(", r"allow_pickle\s*=\s*True", r"pickle\.load", r"np\.random\.seed\("):
        assert not re.search(forbidden, text, re.M), forbidden
