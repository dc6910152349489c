"""How it was made, and how to make it again."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ....run.versions import versions
from ....spaces import metric_label
from ....words import counted, decimal
from ...markup import Column, Markup, block, element, joined, paragraphs, table
from .. import recipe
from ..content import ReportContent
from ..section import Section


def _body(content: ReportContent) -> Markup:
    """Return the section from which the fit can be made again."""
    return joined(
        _again(content),
        _notes(content),
        _parameters(content),
        _facts(content),
    )


def _again(content: ReportContent) -> Markup:
    parts = [
        element("h3", "To make it again"),
        block("code", "In Python", recipe.code(content.model, content.found.samples.fdr)),
    ]
    if content.command:
        parts.append(block("command", "In a shell", content.command))
    return joined(parts)


def _notes(content: ReportContent) -> Markup:
    heading = element("h3", "Warnings of the fit")
    if not content.notes:
        return joined(heading, element("p", "None were recorded."))
    return joined(heading, element("ul", [element("li", str(note)) for note in content.notes]))


def _parameters(content: ReportContent) -> Markup:
    columns = [Column("parameter"), Column("value"), Column("")]
    rows = [
        [name, recipe.literal(value) or f"a {type(value).__name__}", "default" if is_default else "set"]
        for name, (value, is_default) in recipe.parameters(content.model).items()
    ]
    return joined(
        element("h3", "Parameters"),
        table(columns, rows, caption=f"Parameters of the {type(content.model).__name__}."),
    )


def _facts(content: ReportContent) -> Markup:
    model = content.model
    views = [
        [name, metric_label(metric), decimal(float(weight), 3), decimal(float(scale), 3)]
        for name, metric, weight, scale in zip(
            content.view_names,
            model.metrics_,
            content.found.views.weights,
            content.found.views.scales,
            strict=True,
        )
    ]
    view_columns = [
        Column("view", "view"),
        Column("metric"),
        Column("weight", "number", "0: left out"),
        Column("scale", "number", "The paper's alpha: no measure of trust"),
    ]
    total = sum(model.timings_.values())
    stages = [[stage, f"{seconds:.2f} s"] for stage, seconds in model.timings_.items()]
    metrics = Counter(map(metric_label, model.metrics_))
    facts = [
        ["neighbours per sample and view", str(model.n_neighbors_)],
        ["metric", ", ".join(metrics)],
        [
            "seed (random_state)",
            recipe.literal(model.params_["random_state"]) or "an object, see the code above",
        ],
        ["data fingerprint", model.data_fingerprint_],
        *([name, number] for name, number in versions().items()),
    ]
    return joined(
        element("h3", "Resolved parameters"),
        table([Column("fact"), Column("value")], facts, caption="Resolved values, data and versions."),
        table(view_columns, views, caption="Metric, weight and scale of each view."),
        element("h3", "Time"),
        table(
            [Column("stage"), Column("seconds", "number")],
            [*stages, ["in all", f"{total:.2f} s"]],
            caption="Time of the fit.",
        ),
        paragraphs([_finite(content)], "note"),
    )


def _finite(content: ReportContent) -> str:
    absent = int(np.isnan(content.model.row_reliability_).all(axis=1).sum())
    if not absent:
        return ""
    return f"{counted(absent, 'sample')} {'was' if absent == 1 else 'were'} seen by no view that was kept."


SECTION = Section(
    "made",
    "How it was made",
    _body,
    lambda content: "Parameters, versions, and the code to make it again.",
)
