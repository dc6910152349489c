"""Placed views of engines that work in this memory: what they answer, and wrappers around them."""
