"""The report of a fit: one page of HTML, with charts, that needs no network."""

from .content import ReportContent
from .section import Section
from .sections import SECTIONS
from .writing import write_report

__all__ = ["SECTIONS", "ReportContent", "Section", "write_report"]
