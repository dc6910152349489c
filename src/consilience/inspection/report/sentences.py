"""What a person should conclude, in plain sentences that the numbers support."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .content import UNSURE, ReportContent
from .wording import count, counted, decimal, in_words, listed, percent, quoted

_NOTABLE = 0.5  # median confidence below which a cluster is named as an unsure one
_NOTABLE_SHARE = 0.02  # of rows that are flagged, from which on a view is said to disagree
_MOST_NAMED = 6
_AGREE = "agree with each other; no row is flagged."
_ALL_AGREE = ["Each two views agree, beyond chance, about who is near whom."]
_BOTH_AGREE = ["As a whole, the two agree about who is near whom, beyond chance."]


def answer(content: ReportContent) -> str:
    """Say what was clustered, and into what."""
    method = type(content.model).__name__
    told = f"{counted(content.n_samples, 'sample')} in {counted(content.n_views, 'view')}"
    if content.n_clusters == 1:
        return f"{told} are all in one cluster, by {method}."
    sizes = _between(content.clusters.sizes)
    return f"{told} were put into {counted(content.n_clusters, 'cluster')} {sizes} by {method}."


def _between(sizes: NDArray[np.intp]) -> str:
    """Say how large pieces are."""
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return f"of {counted(least, 'sample')} each"
    return f"of {count(least)} to {counted(most, 'sample')}"


def confidence(content: ReportContent) -> list[str]:
    """Say how sure the clusters of samples are."""
    if content.n_clusters == 1:
        return ["With one cluster there is no other that a sample could belong to: confidence says nothing."]
    unsure, n = int((content.lowest < UNSURE).sum()), content.n_samples
    if unsure == 0:
        told = [f"No sample is unsure: the confidence of every one is at least {UNSURE}."]
    else:
        told = [
            f"{counted(unsure, 'sample')} of {count(n)} ({percent(unsure / n)}) "
            f"{'is' if unsure == 1 else 'are'} unsure, with a confidence below {UNSURE}; the median of all "
            f"is {decimal(float(np.median(content.lowest)))}."
        ]
    medians = content.by_cluster(content.lowest)
    weak = [c for c in np.argsort(medians, kind="stable").tolist() if medians[c] < _NOTABLE]
    if weak:
        named = listed([f"{c} (median {decimal(medians[c])})" for c in weak])
        several = len(weak) > 1
        told.append(f"Cluster{'s' if several else ''} {named} {'are' if several else 'is'} least sure.")
    return told


def health(content: ReportContent) -> list[str]:
    """Say whether the unified graph is in one piece, and what number of clusters it shows."""
    graph, told = content.found.health, []
    pieces, alone = graph.n_components - graph.n_isolated, graph.n_isolated
    if pieces == 1:
        told.append(
            f"The unified graph is in one piece{', apart from samples without edges' if alone else ''}."
        )
    elif pieces > 1:
        several = (
            "more than the clusters asked for, so that a cluster may hold samples that nothing connects"
            if pieces > graph.n_clusters
            else "nothing connects clusters that lie in different pieces"
        )
        sizes = _between(graph.component_sizes[:pieces])
        told.append(f"The unified graph is in {in_words(pieces)} pieces {sizes}: {several}.")
    else:
        told.append("The unified graph has no edges.")
    if alone:
        told.append(
            f"{counted(alone, 'sample')} {'has' if alone == 1 else 'have'} no edge, so that nothing speaks "
            "for their cluster."
        )
    return [*told, *eigengap(content)]


def eigengap(content: ReportContent) -> list[str]:
    """Say whether the eigenvalues show the number of clusters that was asked for."""
    graph = content.found.health
    asked, shown, known = graph.n_clusters, graph.largest_gap, len(graph.eigenvalues)
    if asked < 2 or known <= asked or shown < 2:
        return []
    if asked == shown:
        return [f"The gap of the eigenvalues is largest behind {asked}, the number of clusters asked for."]
    return [
        f"The gap of the eigenvalues, from 2 to {known - 1} clusters, is largest behind {shown}, not behind "
        f"the {asked} asked for: the graph alone does not settle the number of clusters."
    ]


def convergence(content: ReportContent) -> str:
    """Say how the fusion ended."""
    went = content.found.convergence
    rounds = counted(went.n_iter, "round")
    if went.converged:
        return f"The fusion converged after {rounds}."
    return (
        f"The fusion did not converge ({went.status}, after {rounds}): raise max_iter, or take what follows "
        "with care."
    )


def disagreement(content: ReportContent) -> list[str]:
    """Say which view disagrees."""
    if content.n_views == 1:
        return ["There is one view only, and no other that could disagree with it."]
    told = [*left_out(content), *_flags(content)]
    if told[-1].endswith(_AGREE):
        return told
    if content.found.views.heard.sum() == 2:
        told.append("Where two views contradict each other, which of them is at fault cannot be told.")
    return [*told, *_strangers(content)]


def left_out(content: ReportContent) -> list[str]:
    """Say which views took no part."""
    names = [quoted(content.view_names[i]) for i in np.flatnonzero(~content.found.views.heard)]
    if not names:
        return []
    one = len(names) == 1
    reasons = "agree with no other view, repeat one, or say nothing"
    if one:
        reasons = "agrees with no other view, repeats one, or says nothing"
    noted = "; the warnings of the fit say which" if content.notes else ""
    return [
        f"{'View' if one else 'Views'} {listed(names)} {'was' if one else 'were'} left out of the fusion: "
        f"{'it' if one else 'they'} {reasons}{noted}."
    ]


def _flags(content: ReportContent) -> list[str]:
    flagged, judged = content.found.samples.n_flagged, content.judged
    if not judged.any():
        return ["No two views have seen the same samples: nothing can be compared."]
    order = [i for i in np.argsort(-flagged, kind="stable").tolist() if flagged[i]]
    if not order:
        return _no_flags(content, int((judged > 0).sum()))
    told = [_flags_of(content, i) for i in order[:_MOST_NAMED]]
    rest = [i for i in range(content.n_views) if judged[i] and i not in order[:_MOST_NAMED]]
    if rest:
        several = sum(int(flagged[i]) for i in rest)
        which = f"the other {in_words(len(rest))}" if len(rest) > 1 else quoted(content.view_names[rest[0]])
        number = "No row" if several == 0 else counted(several, "row")
        told.append(f"{number} of {which} {'is' if several < 2 else 'are'} flagged.")
    return told


def _no_flags(content: ReportContent, n_judged: int) -> list[str]:
    """Say that no row is flagged, and what that means."""
    shares = content.found.samples.misplaced_shares
    hidden = [
        f"An estimated {percent(shares[i])} of the rows of {quoted(content.view_names[i])} are misplaced, "
        "but none of them can be named."
        for i in np.flatnonzero(np.nan_to_num(shares) >= _NOTABLE_SHARE)[:_MOST_NAMED]
    ]
    if hidden or _strangers(content) not in (_ALL_AGREE, _BOTH_AGREE):
        return [f"No row of the {in_words(n_judged)} views that can be compared is flagged.", *hidden]
    which = "The other" if n_judged < content.n_views else "All"
    views = "Both views" if n_judged == content.n_views == 2 else f"{which} {in_words(n_judged)} views"
    return [f"{views} {_AGREE}"]


def _flags_of(content: ReportContent, i: int) -> str:
    flagged, judged = int(content.found.samples.n_flagged[i]), int(content.judged[i])
    name, share = quoted(content.view_names[i]), f"({percent(flagged / judged)})"
    verb = "is" if flagged == 1 else "are"
    if flagged < _NOTABLE_SHARE * judged:
        return f"In view {name} {count(flagged)} of {count(judged)} rows {share} {verb} flagged."
    return f"View {name} disagrees: {count(flagged)} of its {count(judged)} rows {share} {verb} flagged."


def _strangers(content: ReportContent) -> list[str]:
    """Name the views, and the pairs of them, that agree no more than chance explains."""
    matrix, names = content.found.agreement, content.view_names
    compared = np.isfinite(matrix.shares) & ~np.eye(content.n_views, dtype=bool)
    apart = compared & ~matrix.significant
    if not compared.any():
        return ["There are too few samples to tell whether the views agree about who is near whom."]
    if not apart.any():
        return _BOTH_AGREE if compared.sum() == 2 else _ALL_AGREE
    if (apart == compared).all():
        return ["No two views agree about who is near whom more than chance explains."]
    alone = compared.any(axis=1) & (apart == compared).all(axis=1)
    told = [
        f"View {quoted(names[i])} agrees with no other about who is near whom, beyond chance."
        for i in np.flatnonzero(alone)[:_MOST_NAMED]
    ]
    apart[alone] = apart[:, alone] = False
    pairs = [f"{quoted(names[i])} and {quoted(names[j])}" for i, j in np.argwhere(np.triu(apart))]
    if pairs:
        told.append(f"These agree no more than by chance: {'; '.join(pairs[:_MOST_NAMED])}.")
    return told


def of_view(content: ReportContent, i: int) -> list[str]:
    """Say what there is to say of one view."""
    flagged, judged = int(content.found.samples.n_flagged[i]), int(content.judged[i])
    share = float(content.found.samples.misplaced_shares[i])
    told = []
    if not content.found.views.heard[i]:
        told.append("It was left out of the fusion, and is compared with the views that took part.")
    if judged == 0:
        return [*told, "There is nothing to compare it with: no row could be judged."]
    if not content.found.views.heard[i] and share > 0.5:
        return [
            *told,
            f"It is wrong as a whole: an estimated {percent(share)} of its rows say no more of their "
            "sample than any row would.",
        ]
    if flagged == 0:
        told.append(f"None of its {count(judged)} rows is flagged.")
    else:
        told.append(
            f"{count(flagged)} of its {count(judged)} rows are flagged ({percent(flagged / judged)})."
        )
    if np.isfinite(share) and share * judged >= 1:
        told.append(
            f"An estimated {percent(share)} of its rows are misplaced"
            + ("; not all of them can be named." if share * judged > 1.1 * flagged + 1 else ".")
        )
    return told


def flag_rule(content: ReportContent) -> str:
    """Say what a flag means."""
    fdr = content.found.samples.fdr
    return (
        "A row is one view's data of one sample. Its score is the probability that the row is misplaced: "
        "that it says no more of its sample than the row of another one would. In each view the rows with "
        f"the largest scores are flagged, as many as keep the expected share of false flags at "
        f"{percent(fdr)} (the false discovery rate)."
    )
