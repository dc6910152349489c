"""Saving a fitted model, and loading it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..engines import Engine
from ..io.files import checked_path
from ..io.model_files.arrays import ArrayWriter
from ..io.model_files.container import ModelFile, new_archive, write_manifest
from ..io.model_files.decoding import Decoder
from ..io.model_files.encoding import Encoder
from ..io.model_files.errors import ModelFileError
from ..io.stored import require
from ..run.messages import warn
from .base import MultiviewClusterer
from .registry import systems


def save(model: MultiviewClusterer, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a fitted model to a file; see `MultiviewClusterer.save`."""
    name = type(model).__name__
    if _classes().get(name) is not type(model):
        raise ValueError(
            f"{name} is not one of the systems that are known, whose classes are all that a model file may "
            "name; make it known with consilience.models.register_system, or pickle it."
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
    damage, and arrays that were exchanged; it does not show who wrote the file. Anyone who can write to it
    can put another model into it.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default=None
        The most that it may hold; None: as much as there is memory. Reading never takes more memory than the
        file is long, except for sample ids that are not in an array.

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
            message = str(error)
            verb = "" if message.startswith(("is ", "was ")) else "cannot be loaded: "
            raise ModelFileError(f"{path} {verb}{message}.") from error.__cause__


def _read(file: ModelFile) -> MultiviewClusterer:
    name, version = file.manifest["class"], file.manifest["consilience_version"]
    cls = _classes().get(name) if isinstance(name, str) else None
    if cls is None:
        raise ModelFileError(
            f"it is a model of the class {name!r}, which is not known here; import the module that registers "
            "it, or use a newer version of consilience"
        )
    decoder = Decoder(file.array)
    try:
        parameters = decoder.mapping(file.manifest["parameters"], "parameters")
        attributes = decoder.mapping(file.manifest["attributes"], "attributes")
        file.check_all_read()
        for key in parameters:
            if key not in cls._get_param_names():
                raise ModelFileError(
                    f"{name} has no parameter {key!r} in this version; it was written by consilience "
                    f"{version}"
                )
        model = cls(**parameters)
        for key in attributes:
            _check_attribute(cls, key)
        model.__dict__.update(attributes)
        _check_model(model)
    except ModelFileError:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"its parts do not fit together: {error}") from error
    return model


def _classes() -> dict[str, type[MultiviewClusterer]]:
    """Return the classes whose models are kept, by the name that they have in a file."""
    return {cls.__name__: cls for cls in systems().values()}


def _without_functions(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without the callback; NumPy's generator becomes None, an engine its name."""
    kept = dict(parameters)
    if isinstance(kept.get("engine"), Engine):
        kept["engine"] = kept["engine"].name
    if callable(kept.get("callback")):
        kept["callback"] = None
    if kept.get("random_state") is np.random:
        kept["random_state"] = None
    return kept


def _check_attribute(cls: type, name: str) -> None:
    """Raise an error about a name that no fitted attribute has: it could hide a part of the class."""
    fitted = name.isidentifier() and name[-1] == "_" and not name.startswith("_")
    of_class = getattr(cls, name, None)
    if not fitted or callable(of_class) or isinstance(of_class, property):
        raise ModelFileError(f"{name!r} is no fitted attribute of a {cls.__name__}")


def _check_model(model: Any) -> None:
    """Raise a ValueError unless the fitted attributes are about the same samples, as far as indices go."""
    labels = model.labels_
    is_one_each = isinstance(labels, np.ndarray) and labels.dtype.kind == "i" and labels.ndim == 1
    require(is_one_each, "labels_ is not one label for each sample")
    n = len(labels)
    require(_within(labels, n), f"labels_ are not those of clusters of {n} samples")
    k = getattr(model, "n_neighbors_", None)
    fits = k is None or (type(k) is int and 1 <= k <= n - 1)
    require(fits, f"n_neighbors_ is no number of neighbours among {n} samples")
    graph = getattr(model, "graph_", None)
    require(graph is None or graph.shape == (n, n), f"graph_ is not a graph of {n} samples")
    ids = getattr(model, "sample_ids_", None)
    require(ids is None or ids.shape == (n,), f"sample_ids_ does not name {n} samples")
    for lists in getattr(model, "neighbors_", ()):
        fits = lists is None or (
            lists.dtype.kind == "i" and lists.ndim == 2 and len(lists) == n and _within(lists, n)
        )
        require(fits, f"neighbors_ does not list neighbours among {n} samples")
    fusion = vars(model).get("fusion_")
    require(fusion is None or fusion.edges.n_samples == n, f"fusion_ is not about {n} samples")
    predictor = vars(model).get("predictor_")
    fits = predictor is None or len(predictor.labels) == n
    require(fits, f"predictor_ is not about {n} samples")
    if predictor is not None and fusion is not None:
        v = len(fusion.view_names)
        require(len(predictor.spaces) == v, f"predictor_ is not about {v} views")


def _within(indices: Any, bound: int) -> bool:
    return not indices.size or bool(indices.min() >= 0 and indices.max() < bound)
