"""The versions that matter for a result."""

from __future__ import annotations

import platform
from importlib.metadata import version

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Return the versions of this library, of Python and of the libraries that compute."""
    return {
        "consilience": version("consilience"),
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }
