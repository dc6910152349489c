"""An engine whose handles nobody else can open: it shows that callers leave them alone."""

import dataclasses
import inspect
import itertools
import re
from contextlib import suppress
from typing import Any

from consilience.engines import Engine, get_engine, protocol
from consilience.engines.results import Neighbors, Spectrum

# The kinds of handles in the types of the protocol.
KINDS = [name for name, line in vars(protocol).items() if line is Any and name not in ("Any", "Handle")]


class Sealed:
    """A handle: no length, no shape, no array, no truth value."""

    __slots__ = ("_inside", "_maker")

    def __init__(self, inside, maker):
        self._inside, self._maker = inside, maker

    def __getattr__(self, name):
        raise AttributeError(f"somebody asks a handle for {name!r}")

    def _refuse(self, *_):
        raise TypeError("somebody looks into a handle")

    __len__ = __iter__ = __getitem__ = __bool__ = __array__ = __eq__ = __hash__ = __add__ = __mul__ = _refuse


class OpaqueEngine(Engine):
    """The default engine behind sealed handles."""

    name = "opaque"

    def __init__(self):
        self.inner = get_engine("numba")
        self.calls = set()

    @property
    def n_threads(self):
        return self.inner.n_threads

    def limit(self, n_jobs):
        return self.inner.limit(n_jobs)

    def fetch(self, handle):
        assert isinstance(handle, Sealed), (
            f"fetch of a {type(handle).__name__}, which is no handle of this engine"
        )
        return self._open(handle)

    def adopt(self, value):
        assert not isinstance(value, Sealed), "adopt of a handle"
        return Sealed(value, self)

    def _open(self, value):
        if isinstance(value, Sealed):
            assert value._maker is self, "a handle of another engine"
            return value._inside
        if isinstance(value, (list, tuple)):
            return type(value)(self._open(one) for one in value)
        if inspect.isgenerator(value) or isinstance(value, (zip, map, itertools.chain)):
            return (self._open(one) for one in value)
        return value

    def _seal(self, value, annotation):
        if isinstance(value, Neighbors):
            return dataclasses.replace(
                value,
                lists=Sealed(value.lists, self),
                known=None if value.known is None else Sealed(value.known, self),
            )
        if isinstance(value, Spectrum):
            return dataclasses.replace(value, vectors=Sealed(value.vectors, self))
        kinds = re.findall(r"\w+", annotation.removesuffix(" | None"))
        if value is None or not set(kinds) & set(KINDS):
            return value
        if kinds[0] != "tuple":
            return Sealed(value, self)
        return tuple(
            Sealed(one, self) if kind in KINDS else one for one, kind in zip(value, kinds[1:], strict=True)
        )


def _forward(name):
    annotation = inspect.signature(getattr(Engine, name)).return_annotation

    def method(self, *arguments, **keywords):
        self.calls.add(name)
        given = [self._open(one) for one in arguments]
        found = getattr(self.inner, name)(*given, **{key: self._open(one) for key, one in keywords.items()})
        return self._seal(found, annotation)

    method.__name__ = name
    return method


for _name in Engine.__abstractmethods__ - {"n_threads", "limit", "fetch", "adopt"}:
    setattr(OpaqueEngine, _name, _forward(_name))
with suppress(AttributeError):
    OpaqueEngine.__abstractmethods__ = frozenset()
