"""How fast the core is, each figure beside what it is compared with in the same run."""
