"""Formulas as MathML, converted while the pages are built: no script, no font and no network is needed."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
# What the converter does not know: sizes of brackets, and two digits after a fraction without braces.
_SIZES = re.compile(r"\\[bB]igg?[lrm]?(?![A-Za-z])")
_BARE_FRACTION = re.compile(r"(\\[td]?frac)\s*(\d)(\d)")
# What it gets wrong: the index of a letter with an accent belongs beside it, not below.
_ACCENTED = re.compile(
    r"<munderover>\s*(<mi>[^<]*</mi>)\s*(<mi>[^<]*</mi>)\s*(<mo[^>]*>[ˆˉ˜]</mo>)\s*</munderover>"
)


def _mathml(node: nodes.Node, *, block: bool) -> str:
    tex = _BARE_FRACTION.sub(r"\1{\2}{\3}", _SIZES.sub("", node.astext()))
    try:
        mathml = tex2mathml(tex, as_block=block)
    except MathError as error:
        logger.warning("this formula cannot be converted: %s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"
    mathml = _ACCENTED.sub(r'<msub><mover accent="true">\1\3</mover>\2</msub>', mathml)
    # The converter cannot tell an opening bar from a closing one, so browsers would stretch only one of them.
    return re.sub(r"<mo>([|‖])</mo>", r'<mo stretchy="false">\1</mo>', mathml)


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(_mathml(node, block=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
