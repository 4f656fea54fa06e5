"""Data for folders of Hugging Face models: texts as tokens, pictures as the folder says, a first sample."""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.config.preprocessing import Preprocessing
from edgewright.core.errors import BadInput, UsageError, Where
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array
from edgewright.data.images import is_image
from edgewright.data.labels import NAMES
from edgewright.data.numpy_files import NumpyArchive, map_numpy_array
from edgewright.data.samples import DataRequest
from edgewright.frontends.huggingface import read_texts
from edgewright.model.open_model import take_example

log = logging.getLogger(__name__)

PICTURES = "preprocessor_config.json"
LARGEST_CONFIG = 1 << 24


def prepare_folder_data(folder: Path, data: DataRequest) -> DataRequest:
    """The data: lines of a text as tokens, pictures scaled as the folder says unless the user does."""
    preprocessing = data.preprocessing
    kinds = {_has_pictures(part) for part in (data.data, data.eval_data) if part is not None}
    if not preprocessing.is_normalising and kinds == {True}:
        preprocessing = _read_preprocessing(folder / PICTURES, preprocessing)
    elif not preprocessing.is_normalising and True in kinds:
        raise UsageError(
            "of data and data to evaluate on one is pictures, the other arrays: one scale does not fit both",
            do="give both as pictures or both as arrays, or name scale, mean and std",
        )
    return replace(
        data,
        data=read_texts(folder, data.data),
        eval_data=read_texts(folder, data.eval_data),
        preprocessing=preprocessing,
    )


def take_first_sample(data: Any) -> Any:
    """An example of the inputs: the first sample in memory or in a file of numpy; None for other data."""
    path = Path(data) if isinstance(data, str | Path) else None
    if path is None or not path.is_file():
        return take_example(data)
    if path.suffix == ".npy":
        return take_example(_check_samples(path, {"": map_numpy_array(path)})[""])
    if path.suffix == ".npz":
        arrays = NumpyArchive(path)
        named = {name: arrays[name] for name in arrays if name not in NAMES}
        return take_example(_check_samples(path, named))
    return None


def _check_samples(path: Path, arrays: dict[str, Array]) -> dict[str, Array]:
    if not arrays or any(not array.ndim or not len(array) for array in arrays.values()):
        raise BadInput(
            "the file holds no samples, expected arrays whose first axis counts them",
            Where(file=str(path)),
            do="stack the samples along a first axis: np.stack(samples)",
        )
    return arrays


def _has_pictures(data: Any) -> bool:
    if not isinstance(data, str | Path):
        return False
    path = Path(data)
    return any(map(is_image, path.rglob("*"))) if path.is_dir() else is_image(path)


def _read_preprocessing(path: Path, given: Preprocessing) -> Preprocessing:
    """What an image processor of transformers does to pixels; as given where its file says nothing clear."""
    try:
        config = parse_json(read_limited(path, LARGEST_CONFIG)) if path.is_file() else {}
    except ValueError:
        return given
    config = config if isinstance(config, Mapping) else {}
    # Older files leave out what an image processor does unless it is told not to.
    is_of_pictures = not {"do_rescale", "rescale_factor", "image_mean"}.isdisjoint(config)
    scale = config.get("rescale_factor", 1 / 255) if config.get("do_rescale", is_of_pictures) else None
    is_normalized = config.get("do_normalize", "image_mean" in config)
    names = ("image_mean", "image_std") if is_normalized else ("", "")
    mean, std = map(config.get, names)
    if not _is_clear(scale, mean, std):
        return given
    log.info("pictures are scaled as %s says", PICTURES)
    return replace(given, scale=scale, mean=tuple(mean or ()), std=tuple(std or ()))


def _is_clear(scale: Any, mean: Any, std: Any) -> bool:
    """Whether something is said, in numbers that make sense."""
    lists = [each for each in (mean, std) if each is not None]
    if not all(isinstance(each, list) and len(each) in {1, 3} for each in lists):
        return False
    numbers = [*([] if scale is None else [scale]), *(std or [])]
    values = [*numbers, *(mean or [])]
    are_numbers = all(isinstance(each, float | int) and math.isfinite(each) for each in values)
    return bool(values) and are_numbers and all(number > 0 for number in numbers)
