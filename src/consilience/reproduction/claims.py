"""Which claims of the paper hold here, and what else the numbers show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..words import listed
from . import graph_claims, score_claims, time_claims
from .definitions import Claim, Paper
from .experiments import MANY_NEIGHBORS
from .verdicts import UNKNOWN, Judgement, Tables


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim.

    Attributes
    ----------
    id, claim : str
        The claim and its name; in our words.
    where : str
        The paper's heading that it stands under; empty if it is ours.
    verdict : {"holds", "holds in part", "does not hold", "nobody can say"}
        By the thresholds in `score_claims`, `graph_claims` and `time_claims`.
    text : str
        What the numbers say.
    """

    id: str
    claim: str
    where: str
    verdict: str
    text: str


@dataclass(frozen=True)
class _Rule:
    """How a claim is judged: by what, on which tables, and what of it is small in a quick run."""

    judge: Callable[[Tables, Paper], Judgement]
    needs: tuple[str, ...]
    grid: bool = False
    seeds: bool = False
    timed: bool = False


_RULES = {
    "fusion_beats_best_view": _Rule(score_claims.fusion_beats_best_view, ("scores",), grid=True, seeds=True),
    "best_on_most_sets": _Rule(score_claims.best_on_most_sets, ("scores",), grid=True, seeds=True),
    "good_untuned": _Rule(score_claims.good_untuned, ("no-tuning", "scores"), grid=True, seeds=True),
    "stable_over_grid": _Rule(graph_claims.stable_over_grid, ("sensitivity",), grid=True),
    "converges_in_few_rounds": _Rule(
        graph_claims.converges_in_few_rounds, ("sensitivity", "convergence"), grid=True
    ),
    "fusion_time_grows_as_k_n_v2": _Rule(time_claims.growth, ("complexity",)),
    "fusion_is_small_part": _Rule(time_claims.fusion_is_small_part, ("times",), timed=True),
    "among_the_fastest": _Rule(time_claims.among_the_fastest, ("times",), timed=True),
    "revised_scores_higher": _Rule(score_claims.revised_scores_higher, ("2019",), grid=True, seeds=True),
    "revised_is_faster": _Rule(time_claims.revised_is_faster, ("times",), timed=True),
    "larger_eigengap": _Rule(time_claims.larger_eigengap, ("eigengaps",), timed=True),
    "cleaner_graph": _Rule(graph_claims.cleaner_graph, ("affinity",)),
    "weight_in_e": _Rule(graph_claims.weight_in_e, ("no-tuning",)),
    "scales_uniform": _Rule(graph_claims.scales_uniform, ("no-tuning",)),
    "fewer_neighbors": _Rule(score_claims.fewer_neighbors, ("no-tuning",), seeds=True),
    "exact_is_lower": _Rule(graph_claims.exact_is_lower, ("convergence",)),
}


def own_claims(paper: Paper) -> list[Claim]:
    """Return what the paper does not say but its experiments show, put as claims."""
    point = paper.experiments.no_tuning.point
    at = f"beta = {point.beta:g} and gamma = {point.gamma:,.0f}"
    k = paper.experiments.arguments["n_neighbors"]
    return [
        Claim("weight_in_e", f"With {at} hardly any weight moves into the inconsistent part E.", ""),
        Claim("scales_uniform", f"With {at} the scales alpha of the views stay nearly uniform.", ""),
        Claim(
            "fewer_neighbors", f"With {at} the paper's {k} neighbours score higher than {MANY_NEIGHBORS}.", ""
        ),
        Claim("exact_is_lower", "The paper's rounds end above the objective that exact steps reach.", ""),
    ]


def judge(tables: Tables, paper: Paper, *, quick: bool = False) -> list[Finding]:
    """Judge the claims of the paper, then ours.

    Parameters
    ----------
    tables : mapping of str to sequence of dict
        The rows of every experiment that was run.
    paper : Paper
        The definitions; its claims come first, in its order.
    quick : bool, default=False
        Whether the run was a short one. Each finding then says on how little it rests.

    Returns
    -------
    list of Finding
    """
    claims = [*paper.experiments.claims, *own_claims(paper)]
    return [_judge(claim, tables, paper, quick) for claim in claims]


def _judge(claim: Claim, tables: Tables, paper: Paper, quick: bool) -> Finding:
    verdict, text = UNKNOWN, "There is no rule to judge it by."
    rule = _RULES.get(claim.id)
    if rule is not None:
        absent = [name for name in rule.needs if name not in tables]
        empty = [name for name in rule.needs if name not in absent and not tables[name]]
        if absent:
            text = f"Not run: {listed(absent)}."
        elif empty:
            text = f"No results: {listed(empty)}."
        else:
            verdict, text = rule.judge(tables, paper)
            if quick:
                verdict, text = _of_a_quick_run(claim.id, verdict, text, rule, paper)
    return Finding(claim.id, claim.text, claim.where, verdict, text)


def _of_a_quick_run(name: str, verdict: str, text: str, rule: _Rule, paper: Paper) -> Judgement:
    """Return a finding that says on how little it rests.

    A few points about the middle of the grid cannot show whether scores are stable over all of it.
    """
    short = paper.experiments.quick
    side = len(short.exponents)
    rests = [f"a {side} x {side} grid"] * rule.grid + [f"{short.n_runs} seeds"] * rule.seeds
    if rule.timed:
        rests.append("few repetitions of what is timed")
    if rests:
        text += f" Quick run: this rests on {listed(rests)}."
    if name == "stable_over_grid":
        return UNKNOWN, f"{text} So narrow a grid allows no verdict."
    return verdict, text
