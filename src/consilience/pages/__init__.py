"""Pages: one toolkit for HTML; the report of a fit, the comparison, the demo and the reproduction."""
