"""What a person should conclude of the views, in plain sentences that the numbers support.

The most serious comes first. `most` says how many views are named; the others are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...inspection.subject import Bools, as_subject
from ...words import count, counted, in_words, listed, percent, quoted
from .content import ReportContent
from .left_out import REASONS, Reason, why

_NOTABLE_SHARE = 0.02  # of rows that are flagged or misplaced, from which on a view is said to disagree
MOST_NAMED = 6
_MOST_PAIRS = 2
FAULT = "nobody can say which view is at fault"


def disagreement(content: ReportContent, most: int = MOST_NAMED) -> list[str]:
    """Say which views disagree."""
    if content.n_views == 1:
        return ["There is one view only, and no other that could disagree with it."]
    if len(content.kept) == 1:
        return [_only_one(content), *left_out(content, most)]
    nothing = _nothing_in_common(content)
    if nothing:
        return [nothing, *left_out(content, most)]
    if content.none_agree:
        return [_none_agree(content), *left_out(content, most)]
    sentences = _two(content) if len(content.kept) == 2 else _several(content, most)
    return [
        *_disagreeing(content, most),
        *left_out(content, most, ("disagrees", "apart")),
        *sentences,
        *_pairs_apart(content),
        *left_out(content, most, ("constant", "silent", "copy")),
    ]


def left_out(
    content: ReportContent, most: int = MOST_NAMED, reasons: Sequence[Reason] = REASONS
) -> list[str]:
    """Say which views were left out, a sentence for each of these reasons."""
    sentences = []
    for reason in reasons:
        views = [i for i, absence in content.absences.items() if absence.reason == reason]
        if views:
            because = why([content.absences[i] for i in views], content.view_names, most)
            one = len(views) == 1
            sentences.append(
                f"{'View' if one else 'Views'} {_named(content, views, most)} {'was' if one else 'were'} "
                f"left out of the fusion: {because}."
            )
    return sentences


def _named(content: ReportContent, views: Sequence[int], most: int) -> str:
    return listed([quoted(content.view_names[i]) for i in views], most, "view")


def _only_one(content: ReportContent) -> str:
    name = quoted(content.view_names[content.kept[0]])
    if all(absence.reason in ("constant", "silent") for absence in content.absences.values()):
        return f"Only view {name} says anything: there is nothing to compare it with."
    return f"Only view {name} was kept: there is nothing to compare it with."


def _nothing_in_common(content: ReportContent) -> str:
    """Say that the views cannot be compared; nothing if they can."""
    if content.judged[content.kept].any():
        return ""
    seen = as_subject(content.model).seen[:, content.kept]
    if not (seen.sum(axis=1) > 1).any():
        return "No two views have seen the same samples: nothing can be compared."
    return "The views have too few samples in common to be compared."


def _none_agree(content: ReportContent) -> str:
    if len(content.kept) == 2:
        a, b = (quoted(content.view_names[i]) for i in content.kept)
        text = f"Views {a} and {b} agree about who is near whom no more than chance explains; {FAULT}"
    else:
        text = (
            "No two views that were kept agree about who is near whom more than chance explains: nobody can "
            "say which of them are at fault, and in which rows"
        )
    flagged = int(content.found.samples.n_flagged.sum())
    return f"{text}{_mean_little(flagged)}."


def _mean_little(flagged: int) -> str:
    return f", and {counted(flagged, 'flag')} {'means' if flagged == 1 else 'mean'} little" if flagged else ""


def _two(content: ReportContent) -> list[str]:
    """Say how far the two views that were kept contradict each other: neither can be blamed."""
    a, b = content.kept
    first, second = (quoted(content.view_names[i]) for i in (a, b))
    flagged = [int(content.found.samples.n_flagged[i]) for i in (a, b)]
    if sum(flagged):
        return [
            f"Views {first} and {second} contradict each other: {counted(flagged[0], 'row')} of {first} and "
            f"{count(flagged[1])} of {second} are flagged; {FAULT}."
        ]
    shares = np.nan_to_num(content.misplaced[[a, b]])
    if shares.max() >= _NOTABLE_SHARE:
        low, high = percent(shares.min()), percent(shares.max())
        about = high if low == high else f"{low} to {high}"
        return [
            f"About {about} of the rows of views {first} and {second} contradict each other, but none of "
            f"them can be named; {FAULT}."
        ]
    if not np.isfinite(content.found.agreement.shares[a, b]):
        return [
            "There are too few samples to say whether the two views agree about who is near whom. Where "
            f"they differ, {FAULT}."
        ]
    return [
        f"Views {first} and {second} agree with each other; no row of theirs is flagged. Where two views "
        f"differ, {FAULT}."
    ]


def _several(content: ReportContent, most: int) -> list[str]:
    """Say which of three views or more have rows that contradict the others."""
    flagged = content.found.samples.n_flagged
    judged = [i for i in content.kept if content.judged[i]]
    # Views that agree with no other are named as such elsewhere, also if rows of theirs are flagged.
    copies = [i for i, absence in content.absences.items() if absence.reason == "copy"]
    blamed = [i for i in sorted([*judged, *copies], key=lambda i: -flagged[i]) if flagged[i]]
    hidden = _hidden(content, [i for i in judged if not flagged[i]], most)
    if not blamed:
        return [_no_flags(content, judged, bool(hidden)), *hidden]
    sentences = [_flags_of(content, i) for i in blamed[:most]]
    more, others = blamed[most:], [i for i in judged if not flagged[i]]
    if more:
        several = sum(int(flagged[i]) for i in more)
        views = f"{in_words(len(more))} more {'view' if len(more) == 1 else 'views'}"
        sentences.append(f"{counted(several, 'row')} of {views} {'is' if several == 1 else 'are'} flagged.")
    if others:
        which = f"the other {in_words(len(others))}" if len(others) > 1 else _named(content, others, 1)
        sentences.append(f"No row of {which} is flagged.")
    return [*sentences, *hidden]


def _flags_of(content: ReportContent, i: int) -> str:
    flagged, judged = int(content.found.samples.n_flagged[i]), int(content.judged[i])
    name, share = quoted(content.view_names[i]), f"({percent(flagged / judged)})"
    verb = "is" if flagged == 1 else "are"
    misplaced = float(np.nan_to_num(content.misplaced[i]))
    more = ""
    if _not_all_named(misplaced * judged, flagged):
        more = f", and an estimated {percent(misplaced)} are misplaced"
    if flagged < _NOTABLE_SHARE * judged:
        return f"In view {name} {count(flagged)} of {count(judged)} rows {share} {verb} flagged{more}."
    return (
        f"View {name} disagrees: {count(flagged)} of its {count(judged)} rows {share} {verb} flagged{more}."
    )


def _not_all_named(misplaced: float, flagged: int) -> bool:
    """Say whether notably more rows are misplaced than are flagged."""
    return misplaced > 1.1 * flagged + 1


def _no_flags(content: ReportContent, judged: list[int], are_hidden: bool) -> str:
    """Say that no row is flagged, and what that means."""
    between = np.ix_(judged, judged)
    apart = ~content.found.agreement.significant[between]
    np.fill_diagonal(apart, False)
    if are_hidden or apart.any():
        return f"No row of the {in_words(len(judged))} views that can be compared is flagged."
    which = f"All {in_words(len(judged))} views"
    if len(judged) < content.n_views:
        which = f"The {in_words(len(judged))} views that were kept"
    return f"{which} agree with each other; no row of theirs is flagged."


def _hidden(content: ReportContent, views: list[int], most: int) -> list[str]:
    """Name views without flags of which some rows seem misplaced all the same."""
    found = [i for i in views if np.nan_to_num(content.misplaced[i]) >= _NOTABLE_SHARE]
    found.sort(key=lambda i: -content.misplaced[i])
    if not found:
        return []
    named = [f"{percent(content.misplaced[i])} of the rows of {quoted(content.view_names[i])}" for i in found]
    return [f"An estimated {listed(named, most, 'view')} are misplaced, but none of them can be named."]


def _compared(content: ReportContent) -> Bools:
    """Return which pairs of views that were kept could be compared."""
    kept = content.found.views.kept
    apart = np.outer(kept, kept) & ~np.eye(content.n_views, dtype=bool)
    return np.asarray(apart & np.isfinite(content.found.agreement.shares))


def _alone(content: ReportContent) -> Bools:
    """Return which views were kept though they agree with none of the others."""
    compared = _compared(content)
    agreeing = compared & content.found.agreement.significant
    return np.asarray(compared.any(axis=1) & ~agreeing.any(axis=1))


def _disagreeing(content: ReportContent, most: int) -> list[str]:
    """Name the views that were kept though they agree with no other kept view."""
    if not _compared(content).any() and len(content.kept) > 2:
        return ["There are too few samples to say whether the views agree about who is near whom."]
    views = np.flatnonzero(_alone(content)).tolist()
    if not views:
        return []
    one = len(views) == 1
    return [
        f"{'View' if one else 'Views'} {_named(content, views, most)} {'agrees' if one else 'agree'} "
        "with no other about who is near whom, beyond chance."
    ]


def _pairs_apart(content: ReportContent) -> list[str]:
    """Name pairs of views that agree no more than by chance, or count them; not those named before."""
    compared, alone = _compared(content), _alone(content)
    apart = compared & ~content.found.agreement.significant & ~alone & ~alone[:, None]
    names = content.view_names
    pairs = [f"{quoted(names[i])} with {quoted(names[j])}" for i, j in np.argwhere(np.triu(apart))]
    if len(pairs) > _MOST_PAIRS:
        of = count(int(compared.sum()) // 2)
        return [f"{count(len(pairs))} of {of} pairs of views agree no more than by chance."]
    return [f"No more than by chance agree {listed(pairs)}."] if pairs else []


def of_view(content: ReportContent, i: int) -> list[str]:
    """Say what there is to say of one view."""
    flagged, judged = int(content.found.samples.n_flagged[i]), int(content.judged[i])
    absence = content.absences.get(i)
    sentences = []
    if absence is not None:
        sentences.append(f"It was left out of the fusion: {why([absence], content.view_names)}.")
        if absence.reason in ("constant", "silent"):
            return sentences
    if judged == 0:
        return [*sentences, "There is nothing to compare it with: no row could be judged."]
    if absence is not None:
        sentences.append("It is compared with the views that were kept.")
    if absence is not None and absence.reason in ("disagrees", "apart") and not flagged:
        return [*sentences, "It contradicts them as a whole: no single row is named."]
    sentences.append(
        f"None of its {count(judged)} rows is flagged."
        if flagged == 0
        else f"{count(flagged)} of its {count(judged)} rows {'is' if flagged == 1 else 'are'} flagged "
        f"({percent(flagged / judged)})."
    )
    if content.none_agree:
        return [*sentences, "No two views agree, so that nobody can say which rows are misplaced."]
    return [*sentences, *_share_of(content, i, flagged, judged)]


def _share_of(content: ReportContent, i: int, flagged: int, judged: int) -> list[str]:
    """Say how many rows of a view seem misplaced, and how many of them can be named."""
    share = float(content.misplaced[i])
    if not (np.isfinite(share) and share * judged >= 1):
        return []
    named = "."
    if flagged == 0:
        named = "; none of them can be named."
    elif _not_all_named(share * judged, flagged):
        named = "; not all of them can be named."
    if len(content.kept) == 2 and i in content.kept:
        return [
            f"An estimated {percent(share)} of its rows contradict the other view{named} Of the two, {FAULT}."
        ]
    return [f"An estimated {percent(share)} of its rows are misplaced{named}"]


def flag_rule(content: ReportContent) -> str:
    """Say what a flag means, and when it means little."""
    caution = ""
    if content.none_agree:
        caution = " As no two views agree, scores and flags mean little here."
    elif len(content.kept) == 2:
        caution = " Where two views contradict each other, the rows of both are blamed."
    return (
        "A row is one view's data of one sample. Its score is the probability that the row is misplaced: "
        "that it says no more of its sample than the row of another one would. In each view the rows with "
        f"the largest scores are flagged, as many as keep the expected share of false flags at "
        f"{percent(content.found.samples.fdr)} (the false discovery rate).{caution}"
    )
