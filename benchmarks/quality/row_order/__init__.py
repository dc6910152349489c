"""Do scores depend on the order of the rows? Tensor methods that transform along the samples."""
