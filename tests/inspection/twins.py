"""Readable twins of what the diagnostics compute: loops, one sample at a time."""

from __future__ import annotations

import numpy as np


def two_step_votes(neighbors, members, shares):
    """For each sample, where walks of two steps end that do not return, shrunk like the library's."""
    n, k = neighbors.shape
    links = np.zeros((n, n))
    for s in range(n):
        for t in neighbors[s]:
            if t != s:
                links[s, t] += 1
                links[t, s] += 1
    result = np.empty((n, members.shape[1]))
    for s in range(n):
        ends = np.zeros(n)
        for t in np.flatnonzero(links[s]):
            for u in np.flatnonzero(links[t]):
                ends[u] += links[s, t] / links[s].sum() * links[t, u] / links[t].sum()
        ends[s] = 0
        if ends.sum() == 0:
            result[s] = shares
        else:
            votes = ends @ members / ends.sum()
            named = min(links[s].sum(), 2 * k)
            result[s] = (named * votes + shares) / (named + 1)
    return result


def shared_neighbors(lists, i, others, rows, places):
    """How many neighbours of each row of view i other views name at the place."""
    counts = []
    for row, place in zip(rows, places, strict=True):
        own = {t for t in lists[i][row] if t != row}
        counts.append(
            sum(
                len(own & {t for t in lists[j][place] if t != place})
                for j in range(len(lists))
                if others[place, j]
            )
        )
    return np.array(counts)


def odd_one_out(opinions):
    """For one pair: the largest distance of an opinion from the mean of the others, and whose it is."""
    known = [i for i in range(len(opinions)) if not np.isnan(opinions[i])]
    if len(known) < 2:
        return np.nan, None
    far = {i: abs(opinions[i] - np.mean([opinions[j] for j in known if j != i])) for i in known}
    worst = max(far, key=far.get)
    return far[worst], worst
