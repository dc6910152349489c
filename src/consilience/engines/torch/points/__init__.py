"""Placed views: on the device, or in this memory where they are not measured there."""
