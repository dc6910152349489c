"""The toolkit of pages: text is escaped wherever it stands, and only elements are markup."""

import base64
import re

import pytest

from consilience.pages.frame import asset, whole_page
from consilience.pages.markup import (
    LONG,
    Cell,
    Column,
    Markup,
    block,
    element,
    escape,
    figure,
    joined,
    link,
    paragraphs,
    picture,
    section,
    table,
)

from .page_reader import Page

HOSTILE = "</p><script>alert(1)</script><img src=x onerror='alert(1)'> & \"q\""


def inert(markup):
    """Say whether the hostile text stands in some HTML as text only."""
    page = Page(str(markup))
    return not page.scripts and not {"script", "img"} & {tag for tag, _ in page.elements}


def policy(page):
    """Return what a page says that it may do."""
    (found,) = [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    return found


def test_text_is_escaped_and_elements_are_not():
    inner = element("b", HOSTILE)
    assert isinstance(inner, Markup) and inner.startswith("<b>&lt;/p&gt;&lt;script&gt;")
    assert element("p", "1 < 2 ", inner) == f"<p>1 &lt; 2 {inner}</p>"
    assert joined("a&b", [inner, ["<", None]], None) == f"a&amp;b{inner}&lt;"
    assert Page(str(inner)).text == " ".join(HOSTILE.split())


def test_what_was_cut_out_of_markup_or_put_together_is_text_again():
    """Slices and sums of markup are plain strings: they are escaped rather than trusted."""
    made = element("b", "x")
    assert not isinstance(made + "<i>", Markup) and joined(made + "<i>") == "&lt;b&gt;x&lt;/b&gt;&lt;i&gt;"
    assert joined(made[:2]) == "&lt;b"


def test_attributes_are_escaped_left_out_or_without_a_value():
    made = element(
        "a", "x", class_="one", data_of_it=HOSTILE, title=None, hidden=False, open=True, tabindex=0
    )
    assert re.fullmatch(r'<a class="one" data-of-it="[^"<>]*" open tabindex="0">x</a>', made)
    ((_, attributes),) = Page(str(made)).elements
    assert attributes == {"class": "one", "data-of-it": HOSTILE, "open": None, "tabindex": "0"}


def test_void_elements_have_no_end():
    assert element("br") == "<br>" and element("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert element("td") == "<td></td>"


@pytest.mark.parametrize("unseen", ["\u202e", "\x00", "\x1b", "\u2066"])
def test_what_cannot_be_seen_gets_a_mark(unseen):
    """A name could turn the text around it, or hide in it."""
    assert unseen not in escape(f"a{unseen}b") and escape(f"a{unseen}b") != "ab"
    assert unseen not in element("p", f"a{unseen}b", title=f"a{unseen}b")


def test_all_text_of_a_table_is_escaped():
    columns = [Column(HOSTILE, note=HOSTILE), Column("n", "number"), Column("<i>", note=HOSTILE)]
    rows = [[HOSTILE, Cell(HOSTILE, bar=0.5), Cell(HOSTILE, shade=0.5)], ["a", "2", element("b", HOSTILE)]]
    made = table(
        columns, rows, caption=HOSTILE, name=HOSTILE, sortable=True, row_attributes=[{"data_of": HOSTILE}, {}]
    )
    assert inert(made)
    page = Page(str(made))
    (cells,) = page.all_tables[HOSTILE]
    assert cells[1][0] == cells[1][1] == cells[1][2] == cells[2][2] == HOSTILE
    assert ("tr", {"data-of": HOSTILE}) in page.elements


def test_the_first_cell_of_a_row_names_it_and_bars_carry_their_share():
    made = table(
        [Column("a"), Column("b", "number")], [["x", Cell("5", bar=0.25)], ["y", Cell("6", bar=7.0)]]
    )
    page = Page(made.replace("<table>", '<table id="t">'))
    assert page.tables["t"] == [["a", "b"], ["x", "5"], ["y", "6"]]
    heads = [attributes.get("scope") for tag, attributes in page.elements if tag == "th"]
    assert heads == ["col", "col", "row", "row"]
    bars = [a["style"] for tag, a in page.elements if tag == "span" and a.get("class") == "bar"]
    assert bars == ["--share:25%", "--share:100%"]
    assert "--share:0%" in table([Column("a")], [[Cell("x", shade=float("nan"))]])


def test_a_table_without_rows_is_nothing_and_one_without_titles_has_no_head():
    assert table([Column("a")], [], caption="nothing") == ""
    assert "<thead>" not in table([Column(""), Column("")], [["a", "b"]])


def test_long_names_may_be_broken_and_many_rows_are_scrolled():
    long = "x" * (LONG + 1)
    made = table([Column(long), Column("short")], [[long, "y"]])
    assert f'title="{long}"' in made and made.count(" long") == 2
    tall = table([Column("a")], [[str(i)] for i in range(26)])
    assert 'class="box tall"' in tall and 'class="box tall"' not in made


def test_the_rest_of_the_toolkit_escapes_too():
    for made in (
        paragraphs([HOSTILE, HOSTILE]),
        section("name", HOSTILE, element("p", HOSTILE)),
        section(HOSTILE, "title", Markup("")),
        block("name", HOSTILE, HOSTILE),
        figure("name", 100, HOSTILE, HOSTILE),
        link(HOSTILE),
        link(f"https://example.org/{HOSTILE}"),
    ):
        assert isinstance(made, Markup) and inert(made), made
    assert paragraphs([]) == ""


def test_only_addresses_of_the_web_are_links():
    assert link("https://example.org/a") == '<a href="https://example.org/a">https://example.org/a</a>'
    assert link("javascript:alert(1)") == "javascript:alert(1)" and link("a<b.csv") == "a&lt;b.csv"


def test_a_picture_is_an_image_that_can_do_nothing():
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="300pt"><script>alert(1)</script></svg>'
    made = picture(svg, HOSTILE)
    page = Page(str(made))
    ((_, image),) = [one for one in page.elements if one[0] == "img"]
    assert image["alt"] == HOSTILE and not page.scripts
    assert base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode() == svg
    assert image["style"] == "max-width:400px;min-width:400px"
    assert "max-width:960px;min-width:660px" in picture("<svg/>", "no width")


def test_the_frame_of_a_page_loads_and_runs_nothing_else():
    page = whole_page(HOSTILE, element("p", HOSTILE))
    read = Page(page)
    assert not read.scripts and read.text.count("alert(1)") == 4  # in title and body, as text
    assert "script-src 'none'" in policy(read) and asset("page.css") in page
    assert not [a for _, a in read.elements if "src" in a or "href" in a]
    with_script = whole_page("t", Markup(""), scripts=["report.js"], data='{"a": 1}')
    assert re.search(r"script-src 'sha256-[\w+/=]{44}';", policy(Page(with_script)))
    assert Page(with_script).scripts[0] == '{"a": 1}'
