"""What is collected: doctests of the engine of PyTorch only where there is PyTorch (`consilience[gpu]`)."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/consilience/engines/torch"]
