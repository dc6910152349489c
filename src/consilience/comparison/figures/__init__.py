"""Figures of comparisons as SVG, written by hand: nothing to install, nothing to load."""
