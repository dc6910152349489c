"""Draw the README's picture from the figures of `consilience demo` (needs matplotlib).

consilience demo --out demo && python docs/images/make_picture.py demo/summary.json
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

COLORS = {"clean": "#0072b2", "spoiled": "#e69f00"}
OFFSETS = {"clean": -0.2, "spoiled": 0.2}


def main(source):
    """Draw what a summary holds."""
    summary = json.loads(Path(source).read_text())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.2), width_ratios=[1.15, 1], layout="constrained"
    )
    systems = {(row["condition"], row["system"]): row["NMI"] for row in summary["systems"]}
    bars(left, systems, summary["conditions"], "{:.3f}")
    left.set_xlim(0, 1.05)
    left.set_title("NMI: each view alone, and all six together", fontsize=10)
    left.set_yticks(left.get_yticks(), [t.get_text().removesuffix(" alone") for t in left.get_yticklabels()])

    fused = [row for row in summary["views"] if row["system"] == "DGF"]
    bars(
        right, {(r["condition"], r["view"]): r["reliability"] for r in fused}, summary["conditions"], "{:.2f}"
    )
    right.set_xlim(0, 1.2 * max(row["reliability"] for row in fused))
    right.set_title("Reliability (DGF leaves out the view at 0)", fontsize=10)
    handles, names = right.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    figure.savefig(Path(__file__).with_name("digits.png"), dpi=150)


def bars(axes, values, conditions, number):
    """Draw a bar for each name and condition, with its number."""
    names = list(dict.fromkeys(name for _, name in values))
    for condition, meaning in conditions.items():
        heights = [values[condition, name] for name in names]
        places = [i + OFFSETS[condition] for i in range(len(names))]
        axes.barh(places, heights, 0.4, color=COLORS[condition], label=meaning)
        for place, value in zip(places, heights, strict=True):
            axes.text(value + 0.005, place, number.format(value), va="center", fontsize=7)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


if __name__ == "__main__":
    main(sys.argv[1])
