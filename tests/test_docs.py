"""Every Python block of the README and of the documentation runs, and the documentation builds.

The ```python blocks of a page run in order in one module, in an empty folder, with warnings as errors.
Systems, formats of files and stored classes that a page registers are gone after it. Blocks of doctest form
(`>>>`) must also print what they say. Two HTML comments, invisible to readers, help:

- `<!-- warns -->` before a block: it must warn;
- `<!-- setup: code -->`: code that runs at this place without being shown.
"""

import doctest
import importlib.util
import re
import subprocess
import sys
import types
import warnings
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from consilience import engines
from consilience.io import stored
from consilience.io.readers import formats, reader
from consilience.models import registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
STEP = re.compile(
    r"<!-- setup:\s*(?P<setup>.*?)\s*-->|(?P<warns>^<!-- warns -->\s*)?^```python\n(?P<code>.*?)^```$",
    re.M | re.S,
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Step:
    line: int  # where its code begins, from 0
    code: str
    warns: bool
    shown: bool


def pages():
    """Return the README and all pages, not what lies in folders such as _build."""
    inner = sorted(page for page in DOCS.rglob("*.md") if "/_" not in page.relative_to(ROOT).as_posix())
    return [ROOT / "README.md", *inner]


def read(page):
    return page.read_text(encoding="utf-8")


def steps(text):
    found = []
    for match in STEP.finditer(text):
        group = "setup" if match["setup"] is not None else "code"
        line = text.count("\n", 0, match.start(group))
        found.append(Step(line, match[group], match["warns"] is not None, group == "code"))
    return found


def run_doctest(step, name, namespace):
    test = doctest.DocTestParser().get_doctest(step.code, {}, name, name, step.line)
    test.globs = namespace  # itself, not a copy: blocks build on each other
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


def run(step, name, namespace):
    with warnings.catch_warnings(record=step.warns) as caught:
        warnings.simplefilter("always" if step.warns else "error")
        if step.code.lstrip().startswith(">>>"):
            run_doctest(step, name, namespace)
        else:
            # Empty lines in front, so that a traceback names the line of the page.
            exec(compile("\n" * step.line + step.code, name, "exec"), namespace)
    assert caught is None or caught, f"{name}, line {step.line + 1}: this block is said to warn; it does not."


def test_pages_of_all_folders_are_found():
    found = {page.relative_to(ROOT).as_posix() for page in pages()}
    assert {"README.md", "docs/index.md", "docs/guide/index.md", "docs/extend/index.md"} <= found
    assert not any("/_" in name for name in found)


def with_blocks():
    """Return the pages with code; those of the guide, of the gallery and the first take long."""
    return [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            # Those of omics and engines need extras, and are run with them.
            marks=[pytest.mark.long]
            if (page.parent.name in ("guide", "gallery") and page.stem not in ("omics", "engines"))
            or page.stem == "start"
            else [],
        )
        for page in pages()
        if steps(read(page))
    ]


@pytest.fixture
def namespace(monkeypatch):
    """Return the names of a new module: classes defined in a page can be found by pickle, as in a script."""
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return vars(module)


@pytest.fixture
def registries():
    """Let a page register what it likes, until it ends."""
    all_of_them = (
        registry._REGISTERED,
        stored.REGISTRY,
        formats.KINDS,
        formats.PACKED,
        reader._ARRAYS,
        engines._ENGINES,
        engines._MADE,
    )
    before = [copy(one) for one in all_of_them]
    yield
    for one, content in zip(all_of_them, before, strict=True):
        one.clear()
        one.update(content)


@pytest.mark.parametrize("page", with_blocks())
def test_the_blocks_of_a_page_run(page, namespace, registries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with np.printoptions():
        for step in steps(read(page)):
            run(step, str(page.relative_to(ROOT)), namespace)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_of_python_escapes_the_test(page):
    text = read(page)
    fences = re.findall(r"^\s*(?:```|~~~|:::)+\s*\{?(?:code-block|code|py\w*)\b.*$", text, re.M | re.I)
    assert len(fences) == sum(step.shown for step in steps(text)), fences
    assert len(re.findall(r"<!--\s*warns", text)) == sum(step.warns for step in steps(text))
    assert len(re.findall(r"<!--\s*setup", text)) == sum(not step.shown for step in steps(text))


def test_what_a_block_does_wrong_is_found():
    """The test of this file itself: on a page that prints the wrong thing, warns, or does not."""
    page = "\n".join(
        [
            "<!-- setup: import warnings -->",
            "```python",
            "x = 1",
            "```",
            "```python",
            ">>> x",
            "2",
            "```",
            "```python",
            "warnings.warn('loud')",
            "```",
            "<!-- warns -->",
            "```python",
            "x = 2",
            "```",
        ]
    )
    hidden, good, wrong, loud, silent = steps(page)
    namespace = {}
    run(hidden, "page", namespace)
    run(good, "page", namespace)
    assert [step.line for step in (hidden, good, wrong, loud, silent)] == [0, 2, 5, 9, 13]
    with pytest.raises(AssertionError, match=r"Expected:\s+2\s+Got:\s+1"):
        run(wrong, "page", namespace)
    with pytest.raises(UserWarning, match="loud"):
        run(loud, "page", namespace)
    with pytest.raises(AssertionError, match="page, line 14: this block is said to warn"):
        run(silent, "page", namespace)


NEEDED = ("sphinx", "myst_parser", "furo", "numpydoc", "sphinx_copybutton")


def test_the_documentation_builds_without_a_warning(tmp_path):
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed: pip install 'consilience[docs]'")
    out = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees")]
    done = subprocess.run([*command, str(DOCS), str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in pages()[1:]:
        html = (out / page.relative_to(DOCS)).with_suffix(".html").read_text(encoding="utf-8")
        # Read without a network, a page must look the same.
        fetched = re.findall(r"<(?:script|img|iframe)[^>]*\bsrc=\"(?:https?:)?//[^\"]*", html)
        fetched += re.findall(r"<link[^>]*rel=\"stylesheet\"[^>]*href=\"(?:https?:)?//[^\"]*", html)
        assert not fetched, (page, fetched)
    assert "<math" in (out / "method.html").read_text(encoding="utf-8")
