"""What every stage takes by each engine: `python -m benchmarks.speed.engines [--engines numba torch]`.

The recipe of the million: 20 classes, three views of 64, 32 and 128 features, k = 10, features to labels,
warm. The engine "numba" is measured with several numbers of threads (--threads 1 2 4), "torch" on devices
(--device auto, cpu, cuda, cuda:1) with all threads. Each has a process of its own. Next to the stages the
ceiling of the machine: products of matrices, and copies from memory to memory; of a device also copies
between it and this memory. A stage that is far below both either waits or does something that only one thread
does. The labels must be the same whatever the number of threads.

On a device, the end of a stage waits until the device has done its work. A fit of some samples makes the
device ready and loads its code: "start". Then come two fits of all samples with the same seed. In the first
the device still gets its memory, which it keeps; the second is the one that is shown. Labels and embedding of
both must have the same bits.

The *floor* of a stage is what its least work would take at the ceilings: bytes that move on the device, each
array once, at the speed of copies, or products in single precision. *Near* is the floor's share of the time:

==========  ============================================================================================
prepare     the features, from this memory to the device; on a CPU, to read them
search      2 d operations for each pair of samples that the search says it has compared in d features
agree       to read the lists of neighbours
connect     to read the lists, and to write the edges
weigh       for each edge the row at its end in each view; to write a weight of each view
fuse        in each round, to read what each view says of an edge and its inconsistent part, and to write
            this part and the fused value; the trust of each view, if there is any
sparsify    to read the fused edges, and to write the unified graph
embed       for each product with a block of vectors the graph, the row that each entry names, and the result
label       to read the embedding once, and to write labels
rest        what the model keeps, from the device to this memory; on a CPU, to read it
==========  ============================================================================================

Rows that edges name are counted each time: where a cache holds them, a stage may be faster than its floor.
Other stages have none, and neither has what a device leaves to the processor, as eigenvectors of few samples.

The default is a rehearsal with 100,000 samples; --n 1000000 is the measurement (8 GiB, some minutes for one
thread). --out keeps everything as JSON, written after each measurement; --figure draws how the times fall
with more threads. All that a machine with 16 cores and a GPU can tell, in about ten minutes, most of them for
one thread:

    python -m benchmarks.speed.engines --n 1000000 --threads 1 2 4 8 16 --out threads.json
    for n in 100000 1000000 10000000; do
        python -m benchmarks.speed.engines --engines torch --device cuda --n $n --out cuda-$n.json
    done

Ten million samples take 40 GiB of memory besides that of the GPU. Where there is no PyTorch, or no such
device, the command says so and ends with status 2.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from consilience import DistanceGraphFusion
from consilience.engines import threads
from consilience.run.memory import available_bytes
from consilience.run.progress import Progress

from .data import N_CLASSES, blobs
from .limited import run_limited
from .measure import fastest, forget_peak, machine_facts, memory_status

K, N = 10, 100_000
N_WARM = 25_000  # of the small fit: more than are embedded and labelled as few are
ENGINES = ("numba", "torch")
_SIDE, _COPIED = 3000, 1 << 28  # of the matrices that are multiplied, and bytes that are copied
_GPU_SIDE, _GPU_COPIED = 8192, 1 << 30  # the same on a GPU
_MEMORY = 20.0  # GiB that a process may take where the system does not say how much is free
_CPU, _ALL = "processor", "stages of all processors"
_REST, _WHOLE = "rest", "features to labels"
Answer = dict[str, Any]
Meters = Mapping[str, Callable[[], float]]


# Fits, each in a process of its own


def fit(n: int, n_jobs: int, effort: str) -> Answer:
    """Fit once by "numba", warm; return the seconds of each stage, on the clock and of all processors."""
    small = _model(effort, n_jobs=n_jobs, neighbor_search="approximate")
    small.fit(blobs(min(n, N_WARM), seed=1).views)  # compiles what the large fit will use
    return _measured(_model(effort, n_jobs=n_jobs), blobs(n))


def fit_on(device: str, n: int, effort: str, n_fits: int = 2) -> Answer:
    """Fit by "torch" on a device, after a small fit; return the last fit, with what the first one took."""
    began = time.perf_counter()
    on = Where(device)
    small = _model(effort, engine=on.engine, neighbor_search="approximate")
    small.fit(blobs(min(n, N_WARM), seed=1).views)
    on.finish()
    start, sample, fits = time.perf_counter() - began, blobs(n), []
    for _ in range(n_fits):
        model = _model(effort, engine=on.engine)  # the one before is given back
        on.forget_peak()
        with _product_bytes() as product_bytes:
            answer = _measured(model, sample, on.finish, {"product bytes": product_bytes})
        fits.append({**answer, "device GiB": on.peaks(), "size": _size(model, sample.views)})
    first, last = fits[0], fits[-1]
    bits = {name: n_fits > 1 and first[name] == last[name] for name in ("labels", "embedding")}
    return {**last, "start": start, "first": first, "same bits": bits if n_fits > 1 else None}


def _model(effort: str, **settings: Any) -> Any:
    warnings.simplefilter("ignore")
    return DistanceGraphFusion(n_clusters=N_CLASSES, n_neighbors=K, random_state=0, effort=effort, **settings)


def _nothing() -> None:
    """Wait for nothing: an engine that works in this process is done when it returns."""


def _measured(
    model: Any, sample: Any, finish: Callable[[], None] = _nothing, meters: Meters | None = None
) -> Answer:
    """Fit a model; return times, memory, recall, and digests of what it found.

    `finish` waits for what is under way; what `meters` count is noted for each stage.
    """
    forget_peak()
    began, spent = time.perf_counter(), time.process_time()
    with _metered({_ALL: time.process_time, **(meters or {})}, finish) as noted:
        model.fit(sample.views)
        finish()
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    return {
        "seconds": seconds,
        _CPU: spent,
        "stages": {**model.timings_, _REST: seconds - sum(model.timings_.values())},
        **noted,
        "GiB": memory_status("VmHWM") / 2**30,
        "recall": [one.recall for one in model.neighbor_searches_],
        "ari": float(adjusted_rand_score(sample.y, model.labels_)),
        "labels": _digest(model.labels_.astype(np.int64)),
        "embedding": _digest(model.embedding_),
    }


def _digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array)).hexdigest()


@contextmanager
def _metered(meters: Meters, finish: Callable[[], None]) -> Iterator[dict[str, dict[str, float]]]:
    """Note by how much meters rise in each stage of the fits inside the block; a stage ends with `finish`."""
    noted: dict[str, dict[str, float]] = {meter: {} for meter in meters}
    plain = Progress.stage

    @contextmanager
    def watched(self: Progress, name: str, detail: str = "") -> Iterator[None]:
        before = {meter: read() for meter, read in meters.items()}
        with plain(self, name, detail):
            yield
            finish()
        for meter, read in meters.items():
            noted[meter][name] = noted[meter].get(name, 0.0) + read() - before[meter]

    Progress.stage = watched  # type: ignore[method-assign]
    try:
        yield noted
    finally:
        Progress.stage = plain  # type: ignore[method-assign]


# A device


class Where:
    """A device of PyTorch, and how to wait for it and ask for its memory.

    Parameters
    ----------
    device : str
        As `TorchEngine` takes it; a ValueError if there is none, an ImportError without PyTorch.
    """

    def __init__(self, device: str) -> None:
        from consilience.engines.torch import TorchEngine
        from consilience.engines.torch.device import Device

        import torch  # isort: skip # after these, which say what to install

        self.torch, self.where = torch, Device.of(device).where
        self.engine = TorchEngine(device=str(self.where))

    @property
    def is_gpu(self) -> bool:
        """Whether it has a memory of its own, and works while this process goes on."""
        return bool(self.where.type == "cuda")

    def finish(self) -> None:
        """Wait until it has done its work."""
        if self.is_gpu:
            self.torch.cuda.synchronize(self.where)

    def forget_peak(self) -> None:
        """Let the peaks of its memory begin anew."""
        if self.is_gpu:
            self.torch.cuda.reset_peak_memory_stats(self.where)

    def peaks(self) -> dict[str, float]:
        """Return how much of its memory was used at most, and taken from other programs, in GiB."""
        if not self.is_gpu:
            return {}
        cuda = self.torch.cuda
        allocated, reserved = cuda.max_memory_allocated(self.where), cuda.max_memory_reserved(self.where)
        return {"allocated": allocated / 2**30, "reserved": reserved / 2**30}

    def facts(self) -> dict[str, Any]:
        """Return what it is."""
        facts = {"torch": self.torch.__version__, "device": str(self.where)}
        if self.is_gpu:
            known = self.torch.cuda.get_device_properties(self.where)
            facts |= {"CUDA": self.torch.version.cuda, "name": known.name, "GiB": known.total_memory / 2**30}
        else:
            facts["threads"] = self.torch.get_num_threads()
        return facts


@contextmanager
def _product_bytes() -> Iterator[Callable[[], float]]:
    """Count what products of graphs with blocks of vectors must move, inside the block."""
    from consilience.engines.torch.spectrum.block_product import BlockProduct

    plain, moved = BlockProduct.__call__, 0

    def watched(self: Any, x: Any) -> Any:
        nonlocal moved
        n_entries, number = len(self._indices), x.element_size()
        moved += n_entries * (self._indices.element_size() + number) + self._indptr.nbytes
        moved += (n_entries + len(x)) * x.shape[1] * number
        return plain(self, x)

    BlockProduct.__call__ = watched  # type: ignore[method-assign]
    try:
        yield lambda: float(moved)
    finally:
        BlockProduct.__call__ = plain  # type: ignore[method-assign]


def _size(model: Any, views: Sequence[Any]) -> Answer:
    """Return the numbers that the floors of a fit follow from."""
    fused, graph = model.fusion_, model.graph_
    kept = [graph.data, graph.indices, graph.indptr, model.embedding_, model.row_reliability_]
    kept += [*model.neighbors_, fused.edges.indptr, fused.edges.indices, fused.fused]
    kept += [fused.weights_by_view, fused.inconsistent_by_view, fused.trust_by_view]
    return {
        "n": len(model.labels_),
        "k": model.n_neighbors_,
        "features": [x.shape[1] for x in views],
        "bytes of a feature": views[0].itemsize,
        "pairs": [one.pairs for one in model.neighbor_searches_],
        "edges": fused.edges.n_edges,
        "bytes of a weight": fused.weights_by_view.itemsize,
        "rounds": fused.n_iter,
        "has trust": fused.trust_by_view is not None,
        "graph": graph.nnz,
        "clusters": model.n_clusters_,
        "kept bytes": sum(one.nbytes for one in kept if one is not None),
    }


# Ceilings and floors


def ceiling(n_jobs: int) -> Answer:
    """Return how fast products of matrices and copies are, on some threads."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((_SIDE, _SIDE), dtype=np.float32) for _ in range(2))
    source = np.ones(_COPIED // 8)
    target = np.empty_like(source)

    def copy(start: int, stop: int) -> None:
        target[start:stop] = source[start:stop]

    with threads.limit(n_jobs):
        product = fastest(lambda: a @ b, 3)
        copied = fastest(lambda: threads.for_ranges(copy, len(source), grain=1 << 16), 5)
    return {"GFLOP/s": 2e-9 * _SIDE**3 / product, "GB/s": 2e-9 * _COPIED / copied}


def ceiling_on(device: str) -> Answer:
    """Return how fast a device multiplies matrices and copies, and copies to and from it are.

    Products are in single precision with all its digits. A copy on the device reads and writes: both count.
    Copies to and from it are counted once, from pages that are pinned and from those that are not.
    """
    on = Where(device)
    torch, where = on.torch, on.where
    torch.set_float32_matmul_precision("highest")
    side, size = (_GPU_SIDE, _GPU_COPIED) if on.is_gpu else (_SIDE, _COPIED)
    a, b = (torch.ones((side, side), device=where) / (i + 3) for i in range(2))
    source = torch.ones(size // 4, device=where)
    target = torch.empty_like(source)

    def seconds(function: Callable[[], Any], repeats: int = 5) -> float:
        return fastest(lambda: (function(), on.finish()), repeats)

    found: Answer = {
        "GFLOP/s": 2e-9 * side**3 / seconds(lambda: torch.mm(a, b)),
        "GB/s": 2e-9 * size / seconds(lambda: target.copy_(source)),
    }
    if on.is_gpu:
        here = torch.ones(_COPIED // 4)
        for name, memory in (("", here), (", pinned", here.pin_memory())):
            there = target[: len(memory)]
            found[f"GB/s from here{name}"] = 1e-9 * _COPIED / seconds(lambda m=memory, t=there: t.copy_(m))
            found[f"GB/s to here{name}"] = 1e-9 * _COPIED / seconds(lambda m=memory, t=there: m.copy_(t))
    return {**found, "facts": on.facts()}


def floors(size: Answer, product_bytes: Mapping[str, float], ceiling: Answer) -> dict[str, float]:
    """Return the least seconds of the stages that have a floor; the module says what is counted.

    Parameters
    ----------
    size : dict
        As a fit on a device returns it.
    product_bytes : dict of str to float
        What products with blocks of vectors move in each stage.
    ceiling : dict
        As `ceiling_on` returns it.
    """
    n, edges, graph, weight = size["n"], size["edges"], size["graph"], size["bytes of a weight"]
    v, n_features = len(size["features"]), sum(size["features"])
    n_listed = n * size["k"] * v
    features = n * n_features * size["bytes of a feature"]
    n_fused = (3 + size["has trust"]) * v + 1  # numbers of an edge in a round
    products = product_bytes.get("embed", 0.0)  # 0: few samples, which the processor embeds and labels
    moved = {
        "agree": 4 * n_listed,
        "connect": 4 * n_listed + 4 * edges + 8 * n,
        "weigh": edges * (n_features * size["bytes of a feature"] + v * weight),
        "fuse": size["rounds"] * edges * n_fused * weight,
        "sparsify": (edges + graph) * (weight + 4),
        "embed": products,
        "label": 8 * n * (size["clusters"] + 1) if products else 0,
    }
    speed = ceiling["GB/s"]
    found = {"prepare": 1e-9 * features / ceiling.get("GB/s from here, pinned", speed)}
    operations = 2.0 * n * sum(p * d for p, d in zip(size["pairs"], size["features"], strict=True))
    found["search"] = 1e-9 * operations / ceiling["GFLOP/s"]
    found |= {name: 1e-9 * one / speed for name, one in moved.items()}
    found[_REST] = 1e-9 * size["kept bytes"] / ceiling.get("GB/s to here, pinned", speed)
    return {name: one for name, one in found.items() if one > 0 and math.isfinite(one)}


# The table


@dataclass(frozen=True)
class Column:
    """A column of the table: what is above it, and its texts by row."""

    title: str
    heading: str
    texts: dict[str, str]

    @property
    def width(self) -> int:
        """How wide it is, with a gap before it."""
        return 3 + max(map(len, (self.title, self.heading, *self.texts.values())))


def thread_columns(found: Mapping[int, Answer], ceilings: Mapping[int, Answer]) -> list[Column]:
    """Return a column for each number of threads: seconds, gain over the fewest threads, and work."""
    if not found:
        return []
    least, columns = min(found), []
    base = _seconds(found[least])
    base_work = _work(found[least])
    for number in sorted(found):
        one, work = found[number], _work(found[number])
        texts = {
            name: f"{a:.2f} {base[name] / max(a, 1e-9):5.1f}x {work[name] / max(base_work[name], 1e-9):5.2f}"
            for name, a in _seconds(one).items()
        }
        for unit in ("GFLOP/s", "GB/s"):
            value = ceilings[number][unit]
            texts[f"ceiling: {unit}"] = f"{value:.0f} {value / ceilings[least][unit]:5.1f}x      "
        columns.append(Column(f"{number} threads", "s, gain, work", texts | _facts(one)))
    return columns


def device_columns(
    found: Mapping[str, Answer], ceilings: Mapping[str, Answer], base: Answer | None = None
) -> list[Column]:
    """Return a column for each device: seconds, gain over another fit, the floor and its share."""
    columns = []
    for device, one in found.items():
        least = floors(one["size"], one["product bytes"], ceilings[device])
        known = {} if base is None else _seconds(base)
        texts = {
            name: " ".join(
                [
                    f"{a:.2f}",
                    f"{known[name] / max(a, 1e-9):5.1f}x" if name in known else f"{'':6}",
                    f"{least[name]:8.4f} {least[name] / max(a, 1e-9):5.0%}" if name in least else f"{'':14}",
                ]
            )
            for name, a in _seconds(one).items()
        }
        texts |= {"start, s": f"{one['start']:.2f}", "first fit, s": f"{one['first']['seconds']:.2f}"}
        speeds = {unit: value for unit, value in ceilings[device].items() if unit != "facts"}
        texts |= {f"ceiling: {unit}": f"{value:.0f}" for unit, value in speeds.items()}
        texts |= {f"{name} there, GiB": f"{value:.2f}" for name, value in one["device GiB"].items()}
        columns.append(Column(f"torch on {device}", "s, gain, floor, near", texts | _facts(one)))
    return columns


def _seconds(one: Answer) -> dict[str, float]:
    return {**one["stages"], _WHOLE: one["seconds"]}


def _work(one: Answer) -> dict[str, float]:
    known = one[_ALL]
    work = {name: known.get(name, 0.0) for name in one["stages"]}
    return {**work, _REST: one[_CPU] - sum(known.values()), _WHOLE: one[_CPU]}


def _facts(one: Answer) -> dict[str, str]:
    return {
        "peak memory, GiB": f"{one['GiB']:.2f}",
        "recall of each view": " ".join(f"{recall:.3f}" for recall in one["recall"]),
        "ARI with the truth": f"{one['ari']:.3f}",
        "labels": one["labels"][:8],
    }


def table(columns: Sequence[Column]) -> str:
    """Return the columns side by side, a row for each stage first."""
    names = list(dict.fromkeys(name for column in columns for name in column.texts))
    width = 1 + max(map(len, names))
    lines = [f"{'':<{width}}" + "".join(f"{c.title:>{c.width}}" for c in columns)]
    lines.append(f"{'':<{width}}" + "".join(f"{c.heading:>{c.width}}" for c in columns))
    for name in names:
        lines.append(f"{name:<{width}}" + "".join(f"{c.texts.get(name, ''):>{c.width}}" for c in columns))
    return "\n".join(line.rstrip() for line in lines)


def verdicts(found: Mapping[int, Answer], devices: Mapping[str, Answer]) -> list[str]:
    """Say whether labels are the same on all threads, and whether two fits on a device have the same bits."""
    lines = []
    if found:
        same = len({one["labels"] for one in found.values()}) == 1
        lines.append(f"numba: labels are {'the same' if same else 'NOT the same'} on all threads")
    for device, one in devices.items():
        if one["same bits"] is not None:
            differ = " and ".join(name for name, same in one["same bits"].items() if not same)
            bits = f"NOT the same bits: {differ}" if differ else "the same bits"
            lines.append(f"torch on {device}: labels and embedding of two fits have {bits}")
    return lines


def draw(found: Mapping[int, Answer], ceilings: Mapping[int, Answer], path: Path) -> None:
    """Draw how many times faster the whole fit and its search are with more threads, next to the ceilings."""
    from matplotlib.figure import Figure

    from consilience.inspection.drawing import BLUE, GREEN, GREY, VERMILION, own_style

    numbers, least = sorted(found), min(found)
    curves = {
        _WHOLE: [found[least]["seconds"] / found[t]["seconds"] for t in numbers],
        "search": [found[least]["stages"]["search"] / found[t]["stages"]["search"] for t in numbers],
        "products of matrices": [ceilings[t]["GFLOP/s"] / ceilings[least]["GFLOP/s"] for t in numbers],
        "copies": [ceilings[t]["GB/s"] / ceilings[least]["GB/s"] for t in numbers],
    }
    with own_style():
        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.subplots()
        for (name, gains), color, mark in zip(
            curves.items(), (VERMILION, BLUE, GREEN, GREY), "osd^", strict=True
        ):
            axes.plot(numbers, gains, marker=mark, color=color, label=name)
        axes.set(xlabel="threads", ylabel=f"times as fast as on {least}", xticks=numbers)
        axes.legend()
        figure.savefig(path)


# The command


@dataclass
class Measured:
    """Everything that has been measured so far, and the file that keeps it."""

    n: int
    effort: str
    path: Path | None
    found: dict[int, Answer] = field(default_factory=dict)
    ceilings: dict[int, Answer] = field(default_factory=dict)
    devices: dict[str, Answer] = field(default_factory=dict)
    device_ceilings: dict[str, Answer] = field(default_factory=dict)

    def threads(self, number: int) -> None:
        """Measure "numba" on some threads."""
        self.ceilings[number] = _run("ceiling", n_jobs=number)
        self.found[number] = _run("fit", n=self.n, n_jobs=number, effort=self.effort)
        print(f"{number} threads: {self.found[number]['seconds']:.2f} s", flush=True)
        self._keep()

    def device(self, device: str, n_fits: int) -> None:
        """Measure "torch" on a device."""
        self.device_ceilings[device] = _run("ceiling_on", device=device)
        facts = self.device_ceilings[device]["facts"]
        print(", ".join(f"{name} {value}" for name, value in facts.items()), flush=True)
        self._keep()
        self.devices[device] = _run("fit_on", device=device, n=self.n, effort=self.effort, n_fits=n_fits)
        print(f"{device}: {self.devices[device]['seconds']:.2f} s", flush=True)
        self._keep()

    def _keep(self) -> None:
        if self.path is None:
            return
        content = {
            **{"facts": machine_facts(), "n": self.n, "effort": self.effort},
            **{"found": self.found, "ceilings": self.ceilings},
            **{"devices": self.devices, "device ceilings": self.device_ceilings},
            "floors": {
                device: floors(one["size"], one["product bytes"], self.device_ceilings[device])
                for device, one in self.devices.items()
            },
        }
        self.path.write_text(json.dumps(content, indent=1))

    def __str__(self) -> str:
        base = self.found[min(self.found)] if self.found else None
        columns = thread_columns(self.found, self.ceilings)
        columns += device_columns(self.devices, self.device_ceilings, base)
        lines = [f"{self.n:,} samples, effort {self.effort!r}", table(columns)]
        lines.append("gain: times as fast as numba with the fewest threads")
        lines.append("work: seconds of all processors, relative to that; floor, near: see --help")
        return "\n".join([*lines, *verdicts(self.found, self.devices)])


def main(given: list[str] | None = None) -> None:
    """Measure, print the table, and write what was asked for."""
    arguments = _parsed(given)
    print(", ".join(f"{name} {value}" for name, value in machine_facts().items()), flush=True)
    measured = Measured(arguments.n, arguments.effort, arguments.out)
    for number in sorted(set(arguments.threads), reverse=True):  # what takes longest comes last
        measured.threads(number)
    for device in arguments.device:
        measured.device(device, arguments.fits)
    print(f"\n{measured}")
    if arguments.figure is not None:
        draw(measured.found, measured.ceilings, arguments.figure)


def _parsed(given: list[str] | None) -> argparse.Namespace:
    """Return the options, devices by their full names; end with status 2 where there is no such device."""
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.engines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--engines", nargs="+", default=["numba"], choices=ENGINES, help="(default: numba)")
    add("--n", type=int, default=N, help=f"samples (default: {N:,})")
    powers = [number for number in (1, 2, 4, 8, 16, 32, 64) if number <= cores]
    add("--threads", type=int, nargs="+", help=f"of numba (default here: {powers})")
    add("--device", nargs="+", help="of torch: auto, cpu, cuda, cuda:1 (default: auto)")
    add("--fits", type=int, default=2, choices=(1, 2), help="on a device; of 1, no bits are compared")
    add("--effort", default="low", choices=("low", "medium", "high"))
    add("--out", type=Path, help="also write everything as JSON")
    add("--figure", type=Path, help="draw how the times of numba fall, into a file such as scaling.svg")
    arguments = parser.parse_args(given)
    for option, engine in (("threads", "numba"), ("figure", "numba"), ("device", "torch")):
        if getattr(arguments, option) is not None and engine not in arguments.engines:
            parser.error(f"--{option} is of {engine}: add --engines {engine}")
    arguments.threads = (arguments.threads or powers) if "numba" in arguments.engines else []
    wanted = (arguments.device or ["auto"]) if "torch" in arguments.engines else []
    try:
        arguments.device = list(dict.fromkeys(str(Where(one).where) for one in wanted))
    except (ImportError, ValueError) as error:  # no PyTorch, or no such device
        parser.exit(2, f"{error}\n")
    return arguments


def _run(function: str, **arguments: Any) -> Answer:
    """Run a function of this module in a process of its own, or stop with the reason why it did not end."""
    free = available_bytes()
    outcome = run_limited(
        f"benchmarks.speed.engines.{function}",
        arguments,
        seconds=7200.0,
        gibibytes=_MEMORY if free is None else free / 2**30,
    )
    if outcome.value is None:
        raise SystemExit(f"{function} {arguments}: {outcome.reason}")
    answer: Answer = outcome.value
    return answer


if __name__ == "__main__":
    main()
