"""Pages opened in a real browser that can reach nothing but the page.

CONSILIENCE_BROWSER names the program: `export CONSILIENCE_BROWSER="$(command -v chromium)"`. Unset, or
without Playwright (`pip install 'consilience[browser]'`), the tests that open pages are skipped; set to what
does not run, they fail. Playwright only drives that browser; it never downloads one.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Names resolve to nothing: also what is no request, such as a preconnect, stays inside.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


@pytest.fixture(scope="session")
def chromium():
    """Return the browser that CONSILIENCE_BROWSER names, running."""
    program = os.environ.get("CONSILIENCE_BROWSER")
    if not program:
        pytest.skip("CONSILIENCE_BROWSER is not set: it names a chromium, which is not part of the project")
    api = pytest.importorskip("playwright.sync_api", reason="needs the extra 'browser': consilience[browser]")
    if not Path(program).is_file():
        pytest.fail(f"CONSILIENCE_BROWSER={program}: there is no such file", pytrace=False)
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        except api.Error as error:
            pytest.fail(f"CONSILIENCE_BROWSER={program} does not start:\n{error}", pytrace=False)
        yield browser
        browser.close()


@dataclass
class Watch:
    """What a page did that it should not: errors it raised, and attempts to reach beyond its own file."""

    path: Path
    problems: list[str] = field(default_factory=list)

    def attach(self, context):
        # Listening at the context, not the page, also sees windows that the page opens.
        context.route("**/*", self.on_request)
        context.on("console", self.on_console)
        context.on("dialog", self.on_dialog)
        context.on("page", self.on_page)

    def on_page(self, page):
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("crash", lambda page: self.problems.append(f"crash: {page.url}"))

    def on_request(self, route):
        url = urlsplit(route.request.url)
        itself = url.scheme == "file" and Path(unquote(url.path)) == self.path
        if itself or url.scheme in ("data", "blob"):
            route.continue_()
        else:
            self.problems.append(f"request: {route.request.url}")
            route.abort()

    def on_console(self, message):
        if message.type in ("error", "assert"):
            self.problems.append(f"console: {message.text}")

    def on_dialog(self, dialog):
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def open_page(chromium):
    """Return a function: path of a file -> its page, loaded; it fails the test if it does wrong."""
    opened = []

    def open_(path, *, dark=False, width=1280, height=900, touch=False):
        watch = Watch(Path(path).resolve())
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            is_mobile=touch,  # a phone, too, heeds the page's own viewport
            offline=True,  # web sockets pass by the route; offline they fail, with a console error
            service_workers="block",
        )
        opened.append((watch, context))
        watch.attach(context)
        page = context.new_page()
        page.goto(watch.path.as_uri())
        return page

    yield open_
    for _, context in opened:
        for page in context.pages:
            page.wait_for_timeout(100)  # what the page did last is reported a moment later
        context.close()
    problems = [problem for watch, _ in opened for problem in watch.problems]
    assert not problems, "\n".join(problems)
