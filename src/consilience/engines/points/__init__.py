"""Placed views of engines that work in this memory: their methods, and wrappers around them."""
