"""The frozen baseline of the library, and the comparison of the tree with it (`make gate`)."""
