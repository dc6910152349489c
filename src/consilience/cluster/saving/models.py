"""Saving a fitted model, and loading it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...files import checked_path
from ...warned import warn
from ..base import MultiviewClusterer
from ..registry import systems
from .arrays import ArrayWriter
from .consistency import check_model
from .container import ModelFile, new_archive, write_manifest
from .decoding import Decoder
from .encoding import Encoder
from .errors import ModelFileError


def save(model: MultiviewClusterer, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a fitted model to a file; see `MultiviewClusterer.save`."""
    name = type(model).__name__
    if _classes().get(name) is not type(model):
        raise ValueError(
            f"{name} is not one of the systems of consilience, whose classes are all that a model file may "
            "name; pickle it instead."
        )
    check_is_fitted(model)
    target = checked_path(path, force, "fit.consilience")
    parameters = model.get_params(deep=False)
    attributes = {key: value for key, value in sorted(vars(model).items()) if key not in parameters}
    if callable(parameters.get("callback")):
        warn("callback is a function, which a model file cannot hold: the saved model has none.")
    parameters = _without_functions(parameters)
    if "params_" in attributes:
        attributes["params_"] = _without_functions(attributes["params_"])
    with new_archive(target) as archive:
        arrays = ArrayWriter(archive)
        encoder = Encoder(arrays)
        content = {
            "class": name,
            "parameters": {key: encoder.encode(value, key) for key, value in parameters.items()},
            "attributes": {key: encoder.encode(value, key) for key, value in attributes.items()},
        }
        write_manifest(archive, content, arrays)
    return target


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Any:
    """Read a model that `save` wrote.

    Nothing in the file is run, and everything in it is checked: digests, shapes, types, indices. That finds
    damage, and arrays that were exchanged; it does not say who wrote the file. Whoever can write to it can
    make it hold another model.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default=None
        The most that it may hold; None: as much as there is memory. A file never takes more memory than it
        is long, but for sample ids that are not in an array.

    Returns
    -------
    MultiviewClusterer
        The fitted model, of the class that was saved.

    Raises
    ------
    ModelFileError
        A ValueError: if the file is damaged, of another kind, or of a newer version than is known.

    See Also
    --------
    DistanceGraphFusion.save : Writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import consilience
    >>> data = consilience.make_multiview(100, n_clusters=3, separation=5.0, random_state=0)
    >>> model = consilience.DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = model.save(Path(folder) / "fit.consilience")
    ...     again = consilience.load(file)
    >>> again
    DistanceGraphFusion(n_clusters=3, random_state=0)
    >>> bool((again.labels_ == model.labels_).all())
    True
    """
    with Path(path).open("rb") as file:
        try:
            return _read(ModelFile(file, max_bytes))
        except ModelFileError as error:
            told = str(error)
            verb = "" if told.startswith(("is ", "was ")) else "cannot be loaded: "
            raise ModelFileError(f"{path} {verb}{told}.") from error.__cause__


def _read(file: ModelFile) -> MultiviewClusterer:
    name, told = file.manifest["class"], file.manifest["consilience_version"]
    cls = _classes().get(name) if isinstance(name, str) else None
    if cls is None:
        raise ModelFileError(f"it is a model of the class {name!r}, which this version does not know")
    decoder = Decoder(file.array)
    try:
        parameters = decoder.mapping(file.manifest["parameters"], "parameters")
        attributes = decoder.mapping(file.manifest["attributes"], "attributes")
        file.check_all_read()
        for key in parameters:
            if key not in cls._get_param_names():
                raise ModelFileError(
                    f"{name} has no parameter {key!r} in this version; it was written by consilience {told}"
                )
        model = cls(**parameters)
        for key in attributes:
            _check_attribute(cls, key)
        model.__dict__.update(attributes)
        check_model(model)
    except ModelFileError:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"it does not hang together: {error}") from error
    return model


def _classes() -> dict[str, type[MultiviewClusterer]]:
    """Return the classes whose models are kept, by the name that they have in a file."""
    return {cls.__name__: cls for cls in systems().values()}


def _without_functions(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without the callback; NumPy's own generator is what None stands for."""
    kept = dict(parameters)
    if callable(kept.get("callback")):
        kept["callback"] = None
    if kept.get("random_state") is np.random:
        kept["random_state"] = None
    return kept


def _check_attribute(cls: type, name: str) -> None:
    """Raise an error about a name that no fitted attribute has: it could hide a part of the class."""
    fitted = name.isidentifier() and not name.startswith("__") and (name[0] == "_" or name[-1] == "_")
    of_class = getattr(cls, name, None)
    if not fitted or callable(of_class) or isinstance(of_class, property):
        raise ModelFileError(f"{name!r} is no fitted attribute of a {cls.__name__}")
