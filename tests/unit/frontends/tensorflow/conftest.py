"""Models that TensorFlow saved, unpacked once."""

from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest


@pytest.fixture(scope="session")
def saved_models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tensorflow")
    with ZipFile(Path(__file__).parent / "models.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def expected(saved_models):
    return np.load(saved_models / "expected.npz")
