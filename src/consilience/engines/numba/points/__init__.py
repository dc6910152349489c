"""Placed views, one class for each kind of metric."""
