"""Draw the README's picture from the figures of `consilience demo` (needs matplotlib).

consilience demo --out demo && python docs/images/make_picture.py demo/summary.json
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

BLUE, ORANGE, GREY = "#0072b2", "#e69f00", "#999999"


def main(source):
    """Draw what a summary holds."""
    summary = json.loads(Path(source).read_text())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.6), width_ratios=[1.15, 1], layout="constrained"
    )
    systems = [row for row in summary["systems"] if row["condition"] == "clean"]
    names = [row["system"].removesuffix(" alone") for row in systems]
    colors = [GREY if row["system"].endswith("alone") else BLUE for row in systems]
    left.barh(names, [row["NMI"] for row in systems], color=colors)
    left.invert_yaxis()
    left.set_xlim(0, 1)
    left.set_title("NMI: one view alone (grey), all six (blue)", fontsize=10)
    for i, row in enumerate(systems):
        left.text(row["NMI"] + 0.01, i, f"{row['NMI']:.3f}", va="center", fontsize=8)

    views = [row["view"] for row in summary["views"] if (row["condition"], row["system"]) == ("clean", "DGF")]
    for offset, (condition, color) in zip((-0.2, 0.2), (("clean", GREY), ("spoiled", ORANGE)), strict=True):
        shares = {
            row["view"]: row["inconsistent_share"]
            for row in summary["views"]
            if (row["condition"], row["system"]) == (condition, "DGF")
        }
        label = summary["conditions"][condition]
        right.barh(
            [i + offset for i in range(len(views))], [shares[v] for v in views], 0.4, color=color, label=label
        )
    right.set_yticks(range(len(views)), views)
    right.invert_yaxis()
    right.set_title("Share that the other views do not confirm", fontsize=10)
    right.set_xlim(0, 0.3)
    right.legend(frameon=False, fontsize=8, loc="lower right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    figure.savefig(Path(__file__).with_name("digits.png"), dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
