"""How fast the core is, each figure next to what it is compared with in the same run."""
