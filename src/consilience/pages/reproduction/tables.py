"""The tables of the page: scores, times, and the results of the other experiments."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ...reproduction.definitions import Paper, shape_text
from ...reproduction.graph_claims import NEAR_BEST
from ...reproduction.rows import Row, in_order, known, seen_views, set_title, system_title
from ...reproduction.score_claims import AS_PRINTED, COMPARABLE
from ...reproduction.time_figures import STAGES
from ...reproduction.verdicts import single_view
from ...words import parameter_value, percent, signed
from ..markup import Column, Markup, element, joined, link, table

_NONE = "–"


def numbers_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], n_text: int = 1, class_: str = "fixed"
) -> Markup:
    """Return a table whose first columns, `n_text` of them, are text and the others numbers."""
    columns = [Column(name, "text" if i < n_text else "number") for i, name in enumerate(header)]
    return table(columns, rows, class_=class_)


def score_table(rows: Sequence[Row], metric: str, paper: Paper) -> Markup:
    """Return sets x systems: ours, below it the paper's and the difference; the best of ours in bold."""
    systems = in_order(rows, "system")
    body = []
    for data in in_order(rows, "set"):
        here = {row["system"]: row for row in rows if row["set"] == data}
        best = max((row[metric] for row in known(list(here.values()), metric)), default=0.0)
        cells = [_score(here.get(name, {}), metric, best) for name in systems]
        body.append([set_title(paper, data), *cells])
    return numbers_table(["", *_titles(systems, paper)], body, class_="fixed dense")


def _titles(systems: Sequence[str], paper: Paper) -> list[str]:
    return [system_title(paper, name) for name in systems]


def _score(row: Row, metric: str, best: float) -> Markup:
    ours, printed = row.get(metric), row.get(f"{metric}_paper")
    parts: list[str] = [_NONE]
    if ours is not None:
        text = typographic(f"{ours:.2f}")
        parts = [element("strong", text) if ours > best - AS_PRINTED else text]
        if row.get(f"{metric}_std") is not None:
            parts.append(element("small", f" ±{row[f'{metric}_std']:.2f}"))
    if printed is not None:
        difference = None if ours is None else _difference(ours - printed)
        parts.append(element("span", typographic(f"{printed:.2f}"), difference, class_="paper"))
    return joined(parts)


def _difference(value: float) -> Markup:
    far = "far" if abs(value) > COMPARABLE else None
    return joined(" ", element("span", typographic(signed(value)), class_=far))


def typographic(number: str) -> str:
    """Return a number with a typographic minus sign."""
    return number.replace("-", "−")


def failures(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return why cells are empty, or why runs in them failed."""
    items = [
        element(
            "li",
            f"{system_title(paper, row['system'])} on {set_title(paper, row['set'])}: {row['reason']}",
        )
        for row in rows
        if row.get("reason")
    ]
    if not items:
        return Markup("")
    return joined(element("p", "What failed:", class_="note"), element("ul", items, class_="note"))


def chosen_parameters(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return the parameters of every row that has some: those with the best score in the search."""
    systems = [name for name in in_order(rows, "system") if any(_parameters(rows, name).values())]
    body = [
        [
            set_title(paper, data),
            *(_parameters(rows, name).get(data) or _NONE for name in systems),
        ]
        for data in in_order(rows, "set")
        if systems
    ]
    return numbers_table(["", *_titles(systems, paper)], body, class_="fixed dense")


def _parameters(rows: Sequence[Row], name: str) -> dict[str, str]:
    return {
        row["set"]: ", ".join(
            f"{key} {parameter_value(value) if isinstance(value, float) else value}"
            for key, value in (row.get("parameters") or {}).items()
        )
        for row in rows
        if row["system"] == name
    }


def untuned_table(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return scores without tuning, how much is in E, and the range of the scales."""
    metrics = paper.experiments.metrics
    body = []
    for row in rows:
        seen = seen_views(row)
        shares, relative = [share for share, _ in seen], [scale * len(seen) for _, scale in seen]
        body.append(
            [
                set_title(paper, row["set"]),
                system_title(paper, row["system"]),
                str(row["n_neighbors"]),
                *(_plain_score(row, metric) for metric in metrics),
                f"{percent(min(shares), None)} – {percent(max(shares), None)}" if seen else _NONE,
                f"{min(relative):.2f} – {max(relative):.2f}" if seen else _NONE,
            ]
        )
    header = ["", "system", "k", *metrics, "weight in E", "scale × views"]
    return joined(numbers_table(header, body, 2), failures(rows, paper))


def _plain_score(row: Row, metric: str) -> Markup:
    if row.get(metric) is None:
        return joined(_NONE)
    return joined(f"{row[metric]:.2f}", element("small", f" ±{row[f'{metric}_std']:.2f}"))


def table_2019(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return each version's scores, and the gain."""
    metrics = paper.experiments.metrics
    found = {(row["set"], row["system"]): row for row in rows}
    pairs = [(name, one.revises) for name, one in paper.systems.items() if one.revises]
    body = []
    for data in in_order(rows, "set"):
        for new, old in pairs:
            before, after = found.get((data, old), {}), found.get((data, new), {})
            cells = [
                joined(_plain_score(before, m), " → ", _plain_score(after, m), _gain(after.get(f"{m}_gain")))
                for m in metrics
            ]
            names = f"{system_title(paper, old)} → {system_title(paper, new)}"
            body.append([set_title(paper, data), names, *cells])
    return joined(numbers_table(["", "versions", *metrics], body, 2), failures(rows, paper))


def _gain(value: float | None) -> Markup | None:
    return None if value is None else element("span", typographic(signed(value)), class_="paper")


def sensitivity_table(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return the spread of every surface, and where it is highest."""
    metric = paper.experiments.grid.select_by
    untuned = paper.experiments.no_tuning.point
    body = []
    for data in in_order(rows, "set"):
        for name in in_order(rows, "system"):
            here = known([row for row in rows if (row["set"], row["system"]) == (data, name)], metric)
            if not here:
                continue
            values = [row[metric] for row in here]
            best = max(here, key=lambda row: row[metric])
            at = [row[metric] for row in here if (row["beta"], row["gamma"]) == (untuned.beta, untuned.gamma)]
            near = sum(value >= NEAR_BEST * max(values) for value in values) / len(values)
            body.append(
                [
                    set_title(paper, data),
                    system_title(paper, name),
                    f"{min(values):.1f}",
                    f"{median(values):.1f}",
                    f"{max(values):.1f}",
                    f"{parameter_value(best['beta'])}, {parameter_value(best['gamma'])}",
                    f"{at[0]:.1f}" if at else _NONE,
                    percent(near, None),
                ]
            )
    header = ["", "system", f"lowest {metric}", "median", "highest", "at beta, gamma"]
    header += [
        f"at {parameter_value(untuned.beta)}, {parameter_value(untuned.gamma)}",
        f"points with {percent(NEAR_BEST, None)} of the best",
    ]
    return numbers_table(header, body, 2)


def times_table(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return sets x systems: seconds and times the fastest; below, the same of the paper."""
    systems = in_order(rows, "system")
    alone = single_view(paper)
    body = []
    for data in in_order(rows, "set"):
        here = {row["system"]: row for row in rows if row["set"] == data}
        rivals = known([row for name, row in here.items() if name not in alone], "seconds")
        fastest = min((row["seconds"] for row in rivals), default=0.0)
        cells = [_time(here.get(name, {}), fastest, name not in alone) for name in systems]
        body.append([set_title(paper, data), *cells])
    if not body:
        return Markup("")
    legend = element(
        "p",
        "Seconds, and how many times those of the fastest multi-view system, which is in bold. In grey the "
        "paper's, on another machine.",
        class_="note",
    )
    content = numbers_table(["", *_titles(systems, paper)], body, class_="fixed dense")
    return joined(legend, content, failures(rows, paper))


def _time(row: Row, fastest: float, is_rival: bool) -> Markup:
    parts: list[Markup | str | None] = [_NONE]
    if row.get("seconds") is not None:
        text = f"{row['seconds']:.3g}"
        is_first = is_rival and row["seconds"] <= fastest
        parts = [element("strong", text) if is_first else text, _ratio(row.get("ratio_to_fastest"))]
    if row.get("paper") is not None:
        ratio = _ratio(row.get("paper_ratio_to_fastest"))
        parts.append(element("span", f"{row['paper']:.3g}", ratio, class_="paper"))
    return joined(*parts)


def _ratio(value: float | None) -> Markup | None:
    return None if value is None else element("small", f" ×{value:{'.1f' if value < 9.95 else '.0f'}}")


def stages_table(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return each stage's share of the time of SGF and DGF."""
    own = [row for row in rows if paper.systems[row["system"]].revises and row.get("stages")]
    names = [stage for stage in STAGES if any(stage in row["stages"] for row in own)]
    names += [stage for row in own for stage in row["stages"] if stage not in names]
    names = list(dict.fromkeys(names))
    body = [
        [
            set_title(paper, row["set"]),
            system_title(paper, row["system"]),
            *(percent(row["stages"][stage], None) if stage in row["stages"] else _NONE for stage in names),
        ]
        for row in own
    ]
    header = ["", "system", *(STAGES[stage][0] if stage in STAGES else stage for stage in names)]
    return numbers_table(header, body, 2)


def complexity_table(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return the fitted exponents next to the paper's."""
    titles = {factor.name: factor.title for factor in paper.experiments.complexity.factors}
    last = {row["factor"]: row for row in rows if row.get("exponent") is not None}
    body = [
        [
            f"{titles[name]} {name}",
            f"{row['exponent']:.2f} ± {row['exponent_error']:.2f}",
            f"{row['paper_exponent']:g}",
        ]
        for name, row in last.items()
    ]
    return numbers_table(["", "fitted exponent", "the paper's"], body)


def eigengap_table(rows: Sequence[Row], paper: Paper) -> Markup:
    """Return eigengaps and eigen-solves: the range over the views, and each learned graph."""
    rows = known(known(rows, "eigengap"), "seconds")
    learned = [name for name in in_order(rows, "graph") if name in paper.systems]
    body = []
    for data in in_order(rows, "set"):
        here = [row for row in rows if row["set"] == data]
        cells = [set_title(paper, data)]
        for column, factor, digits in (("eigengap", 1, 4), ("seconds", 1000, 1)):
            views = [factor * row[column] for row in here if row["graph"] not in learned]
            cells.append(f"{min(views):.{digits}f} – {max(views):.{digits}f}" if views else _NONE)
            found = {row["graph"]: f"{factor * row[column]:.{digits}f}" for row in here}
            cells += [found.get(name, _NONE) for name in learned]
        body.append(cells)
    names = _titles(learned, paper)
    header = ["", "eigengap: views", *names, "eigen-solve (ms): views", *names]
    return numbers_table(header, body)


def missing_table(missing: Sequence[tuple[str, str]], paper: Paper) -> Markup:
    """Return the sets that could not be used: their shape, where to get them, and why not."""
    body: list[list[str]] = []
    for name, reason in missing:
        shape, where = _NONE, joined(_NONE)
        if name in paper.sets:
            one = paper.sets[name]
            shape = shape_text(*one.shape)
            where = joined(one.source, *([element("br"), link(one.url)] if one.url else []))
        body.append([set_title(paper, name), shape, where, reason])
    if not body:
        return Markup("")
    hint = element("p", "Of its own files the paper says that they are all at ", link(paper.all_sets), ".")
    columns = [Column(title) for title in ("set", "expected", "where it is from", "what was found")]
    return joined(hint, table(columns, body, class_="stacked"))
