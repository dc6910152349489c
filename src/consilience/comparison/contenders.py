"""The systems of a comparison, from anywhere: ours, a class or a function of yours, another package's.

What a system is given follows from what it is:

- one of our estimators: `Views`, and its preparation by parameters;
- a class with the attribute ``takes = "views"``, or whose `fit` has a first argument annotated as `Views`:
  `Views`, prepared;
- any other scikit-learn clusterer (`ClusterMixin`), unless it says ``takes = "arrays"``: the features of all
  views side by side, each view brought to the same mean square;
- anything else, a function too: a list of arrays, one for each view.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, ClusterMixin, clone

from ..models import MultiviewClusterer, systems

try:
    import cloudpickle
except ImportError:  # joblib, which scikit-learn needs, used to bring its own
    from joblib.externals import cloudpickle

GROUP = "consilience.systems"  # of entry points
TAKES = ("views", "arrays", "features")


@dataclass(frozen=True, eq=False)
class Contender:
    """A system in a comparison.

    Attributes
    ----------
    name : str
        Its name in the tables.
    system : class, estimator or function
        None if it could not be had.
    takes : {"ours", "views", "arrays", "features"}
        What it is given.
    reason : str
        Why it cannot run; "": it can.
    """

    name: str
    system: Any = field(repr=False)
    takes: str = ""
    reason: str = ""

    @property
    def class_name(self) -> str:
        """The name of the class or function."""
        if self.system is None:
            return ""
        kind = self.system if _is_kind(self.system) else type(self.system)
        return str(getattr(kind, "__qualname__", kind))

    @cached_property
    def identity(self) -> str:
        """What its results depend on, as far as it is known: code and settings."""
        kind = self.system if _is_kind(self.system) else type(self.system)
        settings = "" if _is_kind(self.system) else repr(sorted(_parameters_of(self.system).items()))
        where = f"{getattr(kind, '__module__', '')}:{self.class_name}"
        code = f"{_source_digest(kind)} {content_digest(self.system)}"
        return f"{self.name} {where} {settings} {code} {self.takes}"

    def make(self, parameters: Mapping[str, Any]) -> Any:
        """Return a new estimator with those of the parameters that it takes; a function stays as it is."""
        if not _is_kind(self.system):
            model = clone(self.system) if hasattr(self.system, "get_params") else copy.deepcopy(self.system)
            known = _parameters_of(model)
            given = {name: value for name, value in parameters.items() if name in known}
            if hasattr(model, "set_params"):
                return model.set_params(**given)
            for name, value in given.items():
                setattr(model, name, value)
            return model
        if not inspect.isclass(self.system):
            return self.system
        return self.system(**accepted(self.system, parameters))


def pickled(thing: Any) -> bytes:
    """Return something as bytes for another process: also classes and functions of a notebook."""
    found: bytes = cloudpickle.dumps(thing)
    return found


def content_digest(thing: Any) -> str:
    """Return a hash of code that is in no file, of what it has captured, and of settings.

    What cannot be written down gets a new one each time, so that no result of it is taken for another's.
    """
    try:
        return hashlib.sha256(pickled(thing)).hexdigest()[:16]
    except Exception:  # whatever an object does when it is written down
        return secrets.token_hex(8)


def _is_kind(system: Any) -> bool:
    """Say whether a system is a class or a function, not an estimator with settings."""
    return inspect.isclass(system) or not (hasattr(system, "fit") or hasattr(system, "fit_predict"))


def _parameters_of(model: Any) -> dict[str, Any]:
    if hasattr(model, "get_params"):
        return dict(model.get_params(deep=False))
    return {name: value for name, value in vars(model).items() if not name.startswith("_")}


def accepted(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the parameters that a class or a function takes by name.

    Examples
    --------
    >>> accepted(lambda X, n_clusters: None, {"n_clusters": 3, "random_state": 0})
    {'n_clusters': 3}
    """
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C: it must take what it is given
        return dict(parameters)
    names = {one.name for one in known if one.kind is not inspect.Parameter.POSITIONAL_ONLY}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known):
        names |= {"n_clusters", "random_state"}  # the usual ones; whoever takes others names them
    return {name: value for name, value in parameters.items() if name in names}


def known_systems() -> dict[str, Any]:
    """Return all systems by name: ours, registered ones, and those that installed packages announce.

    A package announces its systems by entry points of the group ``consilience.systems``.
    """
    announced = {point.name: point for point in entry_points(group=GROUP)}
    return {**systems(), **{name: point for name, point in announced.items() if name not in systems()}}


def find_contenders(given: Any) -> list[Contender]:
    """Return the systems that an argument stands for.

    Parameters
    ----------
    given : str, class, estimator, function, or a sequence of these, or a mapping from names to these
        A text names systems, separated by commas: ``"all"``, names of `known_systems` in any case,
        ``"package.module:Class"``, or ``"name=package.module:Class"``.

    Raises
    ------
    ValueError
        For a plain name that nobody knows. What cannot be imported is a contender with a reason.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> [one.name for one in find_contenders(["dgf, Average", KMeans])]
    ['DGF', 'Average', 'KMeans']
    """
    found: list[Contender] = []
    for one in _each(given):
        found.extend(_named(one) if isinstance(one, str) else [contender(*one)])
    if not found:
        raise ValueError(f"No system was named; known: all, {', '.join(known_systems())}.")
    unique = {one.name: one for one in found}
    if len(unique) < len(found):
        names = [one.name for one in found]
        repeated = next(name for name in names if names.count(name) > 1)
        if any(
            one.system is not unique[repeated].system for one in found if one.name == repeated
        ):  # the same once more is no harm
            raise ValueError(f"Two systems are named {repeated!r}; give one another name: name=system.")
    return list(unique.values())


def _each(given: Any) -> Iterable[Any]:
    """Yield texts, and pairs of a name and a system."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        for name, one in given.items():
            yield f"{name}={one}" if isinstance(one, str) else (str(name), one)
    elif isinstance(given, Iterable) and not inspect.isclass(given) and not hasattr(given, "fit"):
        for one in given:
            yield from _each(one)
    else:
        kind = given if _is_kind(given) else type(given)
        name = next((name for name, system in systems().items() if system is given), None)
        yield name or str(getattr(kind, "__name__", repr(given))), given


def _named(words: str) -> list[Contender]:
    known = known_systems()
    by_case = {name.casefold(): name for name in known}
    found = []
    for word in (word.strip() for word in words.split(",")):
        name, equals, where = (part.strip() for part in word.rpartition("="))
        if not word:
            continue
        if ":" in where:
            found.append(_imported(name if equals else where.rpartition(":")[2], where))
        elif word.casefold() == "all":
            found.extend(contender(name, system) for name, system in known.items())
        elif where.casefold() in by_case:
            own = by_case[where.casefold()]
            found.append(contender(name if equals else own, known[own]))
        else:
            raise ValueError(
                f"Unknown system {where!r}; known: all, {', '.join(known)}; a class of yours is "
                "package.module:Class."
            )
    return found


def _imported(name: str, where: str) -> Contender:
    module, _, attribute = where.partition(":")
    try:
        system: Any = importlib.import_module(module)
        for part in attribute.split("."):
            system = getattr(system, part)
    except Exception as error:  # whatever a module does when it is imported
        return Contender(name, None, reason=f"{where} cannot be imported: {describe(error)}")
    return contender(name, system)


def contender(name: str, system: Any) -> Contender:
    """Return a system as a contender: what it takes is found out, and whether it can be run at all."""
    if hasattr(system, "load") and hasattr(system, "group") and system.group == GROUP:  # an entry point
        try:
            system = system.load()
        except Exception as error:
            return Contender(name, None, reason=f"{system.value} cannot be imported: {describe(error)}")
    kind = system if _is_kind(system) else type(system)
    is_class = inspect.isclass(kind)
    if is_class and not (hasattr(kind, "fit") or hasattr(kind, "fit_predict")):
        return Contender(name, system, reason=f"{kind.__name__} has neither fit nor fit_predict.")
    if not is_class and not callable(system):
        return Contender(name, system, reason=f"{system!r} is no class, estimator or function.")
    takes = _takes(kind)
    if takes not in ("ours", *TAKES):
        return Contender(
            name, system, reason=f"{kind.__name__}.takes must be one of {', '.join(TAKES)}, got {takes!r}."
        )
    return Contender(name, system, takes)


def _takes(kind: Any) -> str:
    if inspect.isclass(kind) and issubclass(kind, MultiviewClusterer):
        return "ours"
    said = getattr(kind, "takes", None)
    if said is not None:
        return str(said)
    method = getattr(kind, "fit_predict", None) or getattr(kind, "fit", kind)
    if inspect.isclass(kind) and hasattr(kind, "fit"):
        method = kind.fit
    if _first_annotation(method, skip=inspect.isclass(kind)) in ("Views", "consilience.Views"):
        return "views"
    if inspect.isclass(kind) and issubclass(kind, ClusterMixin | BaseEstimator):
        return "features" if issubclass(kind, ClusterMixin) else "arrays"
    return "arrays"


def _first_annotation(function: Any, skip: bool) -> str:
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ""
    first = known[skip : skip + 1]
    note = first[0].annotation if first else ""
    return note if isinstance(note, str) else getattr(note, "__name__", "")


def describe(error: BaseException) -> str:
    """Return what an exception says, on one line; with its name, unless it is of those meant for users.

    Examples
    --------
    >>> describe(ValueError("Too few samples.")), describe(RecursionError("too deep"))
    ('Too few samples.', 'RecursionError: too deep')
    """
    name = type(error).__name__
    try:
        text = re.sub(r"\s+", " ", str(error)).strip()
    except Exception:  # whatever an exception of others does when it is shown
        text = ""
    if not text:
        return name
    return text if isinstance(error, ValueError | MemoryError) else f"{name}: {text}"


def _source_digest(kind: Any) -> str:
    """Return a hash of the files that a class of others and its bases are in, and of those beside them.

    These may be imported by it: all files of its package, or those in the folder of its module. Our own code
    is in the key of every result anyway, and libraries below it in the versions.
    """
    files: set[Path] = set()
    for one in inspect.getmro(kind) if inspect.isclass(kind) else [kind]:
        top = (getattr(one, "__module__", "") or "").split(".")[0]
        if top in ("consilience", "sklearn", "builtins", "abc"):
            continue
        try:
            file = Path(inspect.getsourcefile(one) or "")
        except TypeError:
            continue
        package = next((parent for parent in file.parents if parent.name == top), None)
        files.update(file.parent.glob("*.py") if package is None else package.rglob("*.py"))
    return hashlib.sha256("".join(_file_digest(file) for file in sorted(files)).encode()).hexdigest()[:16]


def _file_digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    except OSError:  # gone meanwhile
        return ""
