"""The tables of the page: scores, times, and what the other experiments come to."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import median

from .definitions import Paper, shape_text
from .graph_claims import NEAR_BEST
from .markup import link, paragraph, table
from .rows import Row, in_order, known, seen_views, set_title, system_title
from .score_claims import AS_PRINTED, COMPARABLE
from .time_figures import STAGES
from .wording import number, percent, single_view

_NONE = "–"


def score_table(rows: Sequence[Row], metric: str, paper: Paper) -> str:
    """Return sets x systems: ours, below it the paper's and the difference; the best of ours in bold."""
    systems = in_order(rows, "system")
    body = []
    for data in in_order(rows, "set"):
        here = {row["system"]: row for row in rows if row["set"] == data}
        best = max((row[metric] for row in known(list(here.values()), metric)), default=0.0)
        cells = [_score(here.get(name, {}), metric, best) for name in systems]
        body.append([escape(set_title(paper, data)), *cells])
    return table(["", *_titles(systems, paper)], body, numbers=range(1, len(systems) + 1), css="fixed dense")


def _titles(systems: Sequence[str], paper: Paper) -> list[str]:
    return [escape(system_title(paper, name)) for name in systems]


def _score(row: Row, metric: str, best: float) -> str:
    ours, printed = row.get(metric), row.get(f"{metric}_paper")
    text = _NONE
    if ours is not None:
        text = f"{ours:.2f}".replace("-", "−")
        if ours > best - AS_PRINTED:
            text = f"<strong>{text}</strong>"
        if row.get(f"{metric}_std") is not None:
            text += f"<small> ±{row[f'{metric}_std']:.2f}</small>"
    if printed is not None:
        text += f"<span class='paper'>{printed:.2f}{_difference(ours, printed)}</span>".replace("-", "−")
    return text


def _difference(ours: float | None, printed: float) -> str:
    if ours is None:
        return ""
    css = " class='far'" if abs(ours - printed) > COMPARABLE else ""
    return f" <span{css}>{signed_html(ours - printed)}</span>"


def signed_html(value: float) -> str:
    """Return a difference with a typographic sign.

    Examples
    --------
    >>> signed_html(-1.26), signed_html(0.04)
    ('−1.3', '0.0')
    """
    return f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.05 else "0.0"


def failures(rows: Sequence[Row], paper: Paper) -> str:
    """Return why cells are empty, or why runs in them failed."""
    told = [
        f"<li>{escape(system_title(paper, row['system']))} on {escape(set_title(paper, row['set']))}: "
        f"{escape(row['reason'])}</li>"
        for row in rows
        if row.get("reason")
    ]
    return f"<p class='note'>What failed:</p><ul class='note'>{''.join(told)}</ul>\n" if told else ""


def chosen_parameters(rows: Sequence[Row], paper: Paper) -> str:
    """Return the parameters of every row that has some: those with the best score in the search."""
    systems = [name for name in in_order(rows, "system") if any(_parameters(rows, name).values())]
    body = [
        [
            escape(set_title(paper, data)),
            *(escape(_parameters(rows, name).get(data) or _NONE) for name in systems),
        ]
        for data in in_order(rows, "set")
        if systems
    ]
    columns = range(1, len(systems) + 1)
    return table(["", *_titles(systems, paper)], body, numbers=columns, css="fixed dense")


def _parameters(rows: Sequence[Row], name: str) -> dict[str, str]:
    return {
        row["set"]: ", ".join(
            f"{key.rstrip('_')} {number(value) if isinstance(value, float) else value}"
            for key, value in (row.get("parameters") or {}).items()
        )
        for row in rows
        if row["system"] == name
    }


def untuned_table(rows: Sequence[Row], paper: Paper) -> str:
    """Return scores without tuning, how much is in E, and the range of the scales."""
    metrics = paper.experiments.metrics
    body = []
    for row in rows:
        seen = seen_views(row)
        shares, relative = [share for share, _ in seen], [scale * len(seen) for _, scale in seen]
        body.append(
            [
                escape(set_title(paper, row["set"])),
                escape(system_title(paper, row["system"])),
                str(row["n_neighbors"]),
                *(_plain_score(row, metric) for metric in metrics),
                f"{percent(min(shares))} – {percent(max(shares))}" if seen else _NONE,
                f"{min(relative):.2f} – {max(relative):.2f}" if seen else _NONE,
            ]
        )
    header = ["", "system", "k", *metrics, "weight in E", "scale × views"]
    return table(header, body, numbers=range(2, len(header))) + failures(rows, paper)


def _plain_score(row: Row, metric: str) -> str:
    if row.get(metric) is None:
        return _NONE
    return f"{row[metric]:.2f}<small> ±{row[f'{metric}_std']:.2f}</small>"


def table_2019(rows: Sequence[Row], paper: Paper) -> str:
    """Return each version's scores, and the gain."""
    metrics = paper.experiments.metrics
    found = {(row["set"], row["system"]): row for row in rows}
    pairs = [(name, one.revises) for name, one in paper.systems.items() if one.revises]
    body = []
    for data in in_order(rows, "set"):
        for new, old in pairs:
            before, after = found.get((data, old), {}), found.get((data, new), {})
            cells = [
                f"{_plain_score(before, m)} → {_plain_score(after, m)}"
                + (
                    f"<span class='paper'>{signed_html(after[f'{m}_gain'])}</span>"
                    if after.get(f"{m}_gain") is not None
                    else ""
                )
                for m in metrics
            ]
            names = f"{system_title(paper, old)} → {system_title(paper, new)}"
            body.append([escape(set_title(paper, data)), escape(names), *cells])
    return table(["", "versions", *metrics], body, numbers=range(2, len(metrics) + 2)) + failures(rows, paper)


def sensitivity_table(rows: Sequence[Row], paper: Paper) -> str:
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
                    escape(set_title(paper, data)),
                    escape(system_title(paper, name)),
                    f"{min(values):.1f}",
                    f"{median(values):.1f}",
                    f"{max(values):.1f}",
                    f"{number(best['beta'])}, {number(best['gamma'])}",
                    f"{at[0]:.1f}" if at else _NONE,
                    percent(near),
                ]
            )
    header = ["", "system", f"lowest {metric}", "median", "highest", "at beta, gamma"]
    header += [
        f"at {number(untuned.beta)}, {number(untuned.gamma)}",
        f"points with {percent(NEAR_BEST)} of the best",
    ]
    return table(header, body, numbers=range(2, len(header)))


def times_table(rows: Sequence[Row], paper: Paper) -> str:
    """Return sets x systems: seconds and times the fastest; below, the same of the paper."""
    systems = in_order(rows, "system")
    alone = single_view(paper)
    body = []
    for data in in_order(rows, "set"):
        here = {row["system"]: row for row in rows if row["set"] == data}
        rivals = known([row for name, row in here.items() if name not in alone], "seconds")
        fastest = min((row["seconds"] for row in rivals), default=0.0)
        cells = [_time(here.get(name, {}), fastest, name not in alone) for name in systems]
        body.append([escape(set_title(paper, data)), *cells])
    if not body:
        return ""
    legend = paragraph(
        "Seconds, and how many times those of the fastest multi-view system, which is in bold. In grey the "
        "paper's, on another machine.",
        "note",
    )
    columns = range(1, len(systems) + 1)
    content = table(["", *_titles(systems, paper)], body, numbers=columns, css="fixed dense")
    return legend + content + failures(rows, paper)


def _time(row: Row, fastest: float, is_rival: bool) -> str:
    text = _NONE
    if row.get("seconds") is not None:
        text = f"{row['seconds']:.3g}"
        if is_rival and row["seconds"] <= fastest:
            text = f"<strong>{text}</strong>"
        text += _ratio(row.get("ratio_to_fastest"))
    if row.get("paper") is not None:
        text += f"<span class='paper'>{row['paper']:.3g}{_ratio(row.get('paper_ratio_to_fastest'))}</span>"
    return text


def _ratio(value: float | None) -> str:
    return "" if value is None else f"<small> ×{value:{'.1f' if value < 9.95 else '.0f'}}</small>"


def stages_table(rows: Sequence[Row], paper: Paper) -> str:
    """Return each stage's share of the time of SGF and DGF."""
    own = [row for row in rows if paper.systems[row["system"]].revises and row.get("stages")]
    names = [stage for stage in STAGES if any(stage in row["stages"] for row in own)]
    names += [stage for row in own for stage in row["stages"] if stage not in names]
    names = list(dict.fromkeys(names))
    body = [
        [
            escape(set_title(paper, row["set"])),
            escape(system_title(paper, row["system"])),
            *(percent(row["stages"][stage]) if stage in row["stages"] else _NONE for stage in names),
        ]
        for row in own
    ]
    header = ["", "system", *(escape(STAGES[stage][0] if stage in STAGES else stage) for stage in names)]
    return table(header, body, numbers=range(2, len(header)))


def complexity_table(rows: Sequence[Row], paper: Paper) -> str:
    """Return the fitted exponents beside the paper's."""
    titles = {factor.name: factor.title for factor in paper.experiments.complexity.factors}
    last = {row["factor"]: row for row in rows if row.get("exponent") is not None}
    body = [
        [
            escape(f"{titles[name]} {name}"),
            f"{row['exponent']:.2f} ± {row['exponent_error']:.2f}",
            f"{row['paper_exponent']:g}",
        ]
        for name, row in last.items()
    ]
    return table(["", "fitted exponent", "the paper's"], body, numbers=(1, 2))


def eigengap_table(rows: Sequence[Row], paper: Paper) -> str:
    """Return eigengaps and eigen-solves: the range over the views, and each learned graph."""
    rows = known(known(rows, "eigengap"), "seconds")
    learned = [name for name in in_order(rows, "graph") if name in paper.systems]
    body = []
    for data in in_order(rows, "set"):
        here = [row for row in rows if row["set"] == data]
        cells = [escape(set_title(paper, data))]
        for column, factor, digits in (("eigengap", 1, 4), ("seconds", 1000, 1)):
            views = [factor * row[column] for row in here if row["graph"] not in learned]
            cells.append(f"{min(views):.{digits}f} – {max(views):.{digits}f}" if views else _NONE)
            found = {row["graph"]: f"{factor * row[column]:.{digits}f}" for row in here}
            cells += [found.get(name, _NONE) for name in learned]
        body.append(cells)
    names = _titles(learned, paper)
    header = ["", "eigengap: views", *names, "eigen-solve (ms): views", *names]
    return table(header, body, numbers=range(1, len(header)))


def missing_table(missing: Sequence[tuple[str, str]], paper: Paper) -> str:
    """Return the sets that could not be used: their shape, where to get them, and why not."""
    body = []
    for name, reason in missing:
        shape = where = _NONE
        if name in paper.sets:
            one = paper.sets[name]
            shape = shape_text(*one.shape)
            where = escape(one.source) + (f"<br>{link(one.url)}" if one.url else "")
            reason = reason.replace(f" ({shape}); source: {one.where}", "")  # has columns of its own
        body.append([escape(set_title(paper, name)), shape, where, escape(reason)])
    if not body:
        return ""
    hint = f"<p>Of its own files the paper says that they are all at {link(paper.all_sets)}.</p>\n"
    return hint + table(["set", "expected", "where it is from", "what was found"], body, css="stacked")
