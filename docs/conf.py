"""How Sphinx builds the documentation; it never touches the network."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "consilience"
author = "The consilience developers"
copyright = author
version = release = installed_version("consilience")

extensions = [
    "mathml",  # ours, in _ext: formulas as MathML, which browsers draw without a script
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
html_math_renderer = "mathml"
default_role = "py:obj"
smartquotes = False
exclude_patterns = ["_build"]
templates_path: list[str] = []

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = False  # no files are written into the source
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor outputs are copied

html_theme = "furo"
html_title = f"consilience {release}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_theme_options = {"light_css_variables": {"code-font-size": "0.76rem"}}
html_copy_source = False
html_show_sourcelink = False


def _escape_trailing_underscores(app, what, name, obj, options, lines):
    """Keep reStructuredText from taking the name of a fitted attribute, such as labels_, for a link."""
    for i, line in enumerate(lines):
        if "``" not in line:
            lines[i] = re.sub(r"(?<![\w`*:.\\])([A-Za-z]\w*)_(?=[\s,.;)]|$)", r"\1\\_", line)


def setup(app):
    """Connect what is defined here, after numpydoc has had its turn."""
    app.connect("autodoc-process-docstring", _escape_trailing_underscores, priority=900)
