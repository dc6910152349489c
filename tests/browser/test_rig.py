"""The rig itself: it shows a page as asked for, and a page that does wrong makes its test fail."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# What a page may try, and what the rig must say of it.
WRONGS = {
    "console": ("<script>console.error('spoken')</script>", "console: spoken"),
    "assertion": ("<script>console.assert(1 === 2, 'doubted')</script>", "console: doubted"),
    "exception": ("<script>throw new Error('thrown')</script>", "error: .*thrown"),
    "rejection": ("<script>Promise.reject(new Error('refused'))</script>", "error: .*refused"),
    "dialog": ("<script>setTimeout(() => alert('said'))</script>", "dialog: said"),
    "image": ("<img src='http://example.org/image.png'>", "request: http://example.org/image.png"),
    "script": ("<script src='https://example.org/x.js'></script>", "request: https://example.org/x.js"),
    "style": ("<style>@import 'http://example.org/x.css'</style>", "request: http://example.org/x.css"),
    "frame": ("<iframe src='http://example.org/frame'></iframe>", "request: http://example.org/frame"),
    "window": ("<script>open('http://example.org/window')</script>", "request: http://example.org/window"),
    "leaving": (
        "<script>location = 'http://example.org/elsewhere'</script>",
        "request: http://example.org/elsewhere",
    ),
    "fetch": (
        "<script>fetch('http://example.org/data').catch(() => 0)</script>",
        "request: http://example.org/data",
    ),
    "beacon": (
        "<script>navigator.sendBeacon('http://example.org/beacon', 'x')</script>",
        "request: http://example.org/beacon",
    ),
    "socket": (
        "<script>new WebSocket('ws://example.org/socket')</script>",
        "console: .*ws://example.org/socket",
    ),
    "neighbour": ("<img src='neighbour.png'>", "request: file://.*/neighbour.png"),
}
GOOD = "<p>good</p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='>"
INNER = """
import pathlib
import pytest

@pytest.mark.parametrize("page", sorted(pathlib.Path(__file__).parent.glob("*.html")), ids=lambda p: p.stem)
def test_page(open_page, page):
    open_page(page)
"""


def run_inner(folder, browser):
    """Run the rig on the pages of a folder, in a process of its own; return what pytest wrote."""
    shutil.copy(HERE / "conftest.py", folder)
    (folder / "test_inner.py").write_text(INNER)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    environment = {name: value for name, value in os.environ.items() if name != "CONSILIENCE_BROWSER"}
    if browser is not None:
        environment["CONSILIENCE_BROWSER"] = str(browser)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True).stdout


def parts(output, word):
    """Return what pytest's summary lists under a word such as ERROR: page -> the rest of the line."""
    return dict(re.findall(rf"^{word} \S*test_page\[(\w+)\](.*)$", output, re.M))


@pytest.fixture(scope="module")
def wrongs(chromium, tmp_path_factory):
    """Return what pytest wrote of pages that do wrong, and of a good one."""
    folder = tmp_path_factory.mktemp("wrongs")
    for name, (page, _) in WRONGS.items():
        (folder / f"{name}.html").write_text(f"<!doctype html><title>{name}</title>{page}")
    (folder / "good.html").write_text(f"<!doctype html><title>good</title>{GOOD}")
    return run_inner(folder, os.environ["CONSILIENCE_BROWSER"])


@pytest.mark.parametrize("name", WRONGS)
def test_a_page_that_does_wrong_fails_its_test(wrongs, name):
    assert name in parts(wrongs, "ERROR"), wrongs
    section = re.search(rf"ERROR at teardown of test_page\[{name}\] (.*?)(\n_____|\n=====)", wrongs, re.S)
    assert re.search(WRONGS[name][1], section[1]), section[1]


def test_a_good_page_passes_next_to_them(wrongs):
    assert "good" in parts(wrongs, "PASSED"), wrongs
    assert set(parts(wrongs, "ERROR")) == set(WRONGS)


def test_without_the_variable_tests_skip_and_say_why(tmp_path):
    (tmp_path / "good.html").write_text(GOOD)
    output = run_inner(tmp_path, None)
    assert "1 skipped" in output and "CONSILIENCE_BROWSER is not set" in output, output


@pytest.mark.parametrize(
    ("program", "complaint"), [("absent", "no such file"), (sys.executable, "does not start")]
)
def test_a_variable_that_names_no_browser_is_a_failure(tmp_path, program, complaint):
    pytest.importorskip("playwright.sync_api", reason="needs the extra 'browser': consilience[browser]")
    (tmp_path / "good.html").write_text(GOOD)
    output = run_inner(tmp_path, program)
    assert "good" in parts(output, "ERROR") and complaint in output, output


def test_a_page_is_shown_as_asked_for(open_page, tmp_path):
    path = tmp_path / "a page, 100 % ours é.html"
    path.write_text(
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><p>seen</p>",
        encoding="utf-8",
    )
    page = open_page(path)
    assert page.inner_text("p") == "seen"
    seen = """() => [
        innerWidth,
        innerHeight,
        matchMedia("(prefers-color-scheme: dark)").matches,
        navigator.maxTouchPoints > 0,
    ]"""
    assert page.evaluate(seen) == [1280, 900, False, False]
    assert open_page(path, dark=True, width=400, height=700, touch=True).evaluate(seen) == [
        400,
        700,
        True,
        True,
    ]
