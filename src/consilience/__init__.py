"""Learn one graph from many views of the same samples."""
