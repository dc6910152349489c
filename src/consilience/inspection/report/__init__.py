"""The report of a fit: one page of HTML, with charts, that needs no network."""

from .writing import write_report

__all__ = ["write_report"]
