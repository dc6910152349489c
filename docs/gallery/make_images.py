"""Make the pictures of the gallery: run the code of each page, then draw or photograph what it left.

python docs/gallery/make_images.py [digits shuffled texts graphs large]

Needs the extra `plot`, and for the pictures of report pages a chromium: the one that CONSILIENCE_BROWSER
names, or the first on the path.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image  # comes with Matplotlib
from sklearn.manifold import TSNE

from consilience.inspection import plots

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
WIDTH = 1000  # pixels
MOST_COLOURS = 128  # few enough for small files, enough for smooth edges
NAMED = {  # functions on the map, and where their names go
    "signal.convolve2d": (30, 30),
    "signal.medfilt2d": (30, -24),
    "signal.wiener": (-30, 4),
    "linalg.lstsq": (-30, -26),
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def run_page(name):
    """Run the code of a page in this folder and return its names."""
    namespace = {"__name__": "page"}
    for code in BLOCK.findall((HERE / f"{name}.md").read_text(encoding="utf-8")):
        if code.startswith(">>>"):
            code = "".join(example.source for example in doctest.DocTestParser().get_examples(code))
        exec(compile(code, name, "exec"), namespace)
    return namespace


def save(name, picture):
    """Write a picture with few colours."""
    target = HERE / "images" / f"{name}.png"
    picture.convert("RGB").quantize(MOST_COLOURS).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size // 1024} KB, {picture.width} x {picture.height}")


def save_figure(name, figure):
    """Write a figure of Matplotlib."""
    figure.savefig("figure.png", dpi=120)
    with Image.open("figure.png") as picture:
        save(name, picture)
    plt.close("all")


def photograph(name, page, height, section, cuts=()):
    """Write a picture of one part of a report, without what is between the two texts of each cut."""
    found = os.environ.get("CONSILIENCE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)))
    text = Path(page).read_text(encoding="utf-8")
    for start, end in cuts:
        before, rest = text.split(start, 1)
        text = before + end + rest.split(end, 1)[1]
    parts = ["main > section", "header", "footer", ".note"]
    hidden = ", ".join(f"{part}:not({section})" for part in parts)
    style = f"{hidden} {{ display: none !important }} h2 {{ border: 0 !important; margin-top: 0 !important }}"
    text = text.replace("</head>", f"<style>{style}</style></head>", 1)
    Path("part.html").write_text(text, encoding="utf-8")
    command = [found, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--virtual-time-budget=5000", "--screenshot=part.png", f"--window-size={WIDTH},{height}"]
    subprocess.run([*command, Path("part.html").resolve().as_uri()], check=True, capture_output=True)
    with Image.open("part.png") as picture:
        save(name, picture)


def digits():
    """Draw the answer of the report: what was found, and the map of the samples."""
    run_page("digits")
    photograph("digits", "digits.html", 720, "#answer", [("<h3>Clusters", "<h3>Map of the samples")])


def shuffled():
    """Draw the views of the report, with the worst rows of the shuffled one."""
    run_page("shuffled")
    cuts = [("<h3>Which views agree", "<h3>One view at a time")]
    photograph("shuffled", "shuffled.html", 1000, "#views", cuts)


def texts():
    """Draw a map of the functions, and name some of those that are not where their module is."""
    page = run_page("texts")
    model, names, modules = page["model"], page["names"], page["modules"]
    points = TSNE(perplexity=30, max_iter=1000, random_state=0).fit_transform(model.embedding_)
    titles = [np.unique(modules[model.labels_ == c], return_counts=True) for c in range(5)]
    kinds = np.array([f"{where[counts.argmax()]}, mostly" for where, counts in titles])
    ax = plots.plot_embedding(points, kinds[model.labels_])
    ax.figure.set_size_inches(8.2, 5.4)
    apart = page["images"] & (modules == "signal")
    ax.scatter(*points[apart].T, s=60, facecolors="none", edgecolors="black", linewidths=0.8)
    ax.set_title("Circles: functions of scipy.signal among the image filters", fontsize=10)
    for name, (across, up) in NAMED.items():
        place = {"textcoords": "offset points", "ha": "right" if across < 0 else "left", "fontsize": 8}
        arrow = {"arrowstyle": "-", "color": "gray", "shrinkA": 0}
        ax.annotate(name, points[names == name][0], (across, up), arrowprops=arrow, **place)
    save_figure("texts", ax.figure)


def graphs():
    """Draw how far the layers agree, and which nodes contradict them."""
    page = run_page("graphs")
    from consilience.inspection import agreement_matrix, sample_conflicts

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.4), layout="constrained")
    plots.plot_agreement(agreement_matrix(page["result"]), ax=left)
    plots.plot_sample_conflicts(sample_conflicts(page["result"]), ax=right)
    save_figure("graphs", figure)


def large():
    """Draw the top of the report."""
    run_page("large")
    photograph("large", "large.html", 470, "header")


if __name__ == "__main__":
    ALL = {"digits": digits, "shuffled": shuffled, "texts": texts, "graphs": graphs, "large": large}
    for wanted in sys.argv[1:] or ALL:
        with tempfile.TemporaryDirectory() as folder:
            start = Path.cwd()
            os.chdir(folder)
            try:
                ALL[wanted]()
            finally:
                os.chdir(start)
