"""Texts of figures, for tests: what they say, and whether they lie on one another."""

import pytest


def texts(figure):
    """Return all texts of a figure that are not empty."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def overlaps(figure):
    """Draw a figure; return pairs of texts that lie on one another, and texts that leave it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    drawn = []  # a tick beyond the end of its axis has a label that is never drawn

    canvas = FigureCanvasAgg(figure)
    with pytest.MonkeyPatch.context() as patch:
        draw = Text.draw
        patch.setattr(Text, "draw", lambda text, renderer: (drawn.append(text), draw(text, renderer)))
        canvas.draw()
    seen = [one for one in dict.fromkeys(drawn) if one.get_visible() and one.get_text().strip()]
    boxes = [(one.get_text(), one.get_window_extent(canvas.get_renderer())) for one in seen]
    width, height = canvas.get_width_height()
    outside = [
        text for text, box in boxes if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    inner = [(text, box.padded(-1)) for text, box in boxes]
    return outside + [
        (a, b)
        for i, (a, first) in enumerate(inner)
        for b, second in inner[:i]
        if min(first.width, first.height, second.width, second.height) > 0 and first.overlaps(second)
    ]
