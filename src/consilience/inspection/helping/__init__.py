"""Whether fusing views helps: the parts of `does_fusion_help`."""
