"""Constructors of estimators, made from their annotated attributes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: type[Class]) -> type[Class]:
    """Give a class a constructor of keywords, from its annotated attributes and those of its bases.

    So the parameters that all systems share are written once, and a system adds its own. scikit-learn reads
    them off the signature, as it does off a constructor written by hand.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion
    >>> DistanceGraphFusion(12)
    Traceback (most recent call last):
    ...
    TypeError: DistanceGraphFusion takes keywords only: write DistanceGraphFusion(n_clusters=12).
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    plain: Any = made.__init__

    @functools.wraps(plain)
    def __init__(self: Any, *given: Any, **keywords: Any) -> None:
        if given:
            names = [name for name in made.__dataclass_fields__ if name not in keywords]  # type: ignore[attr-defined]
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(names, given, strict=False))
            name = type(self).__name__
            raise TypeError(f"{name} takes keywords only: write {name}({shown}).")
        plain(self, **keywords)

    made.__init__ = __init__  # type: ignore[method-assign]
    return made
