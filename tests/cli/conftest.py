"""What the tools' tests share: a call of a tool, and a model that is converted once."""

from dataclasses import dataclass

import pytest

from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli import models
from tests.cli.models import DIGITS_MODEL


@dataclass(frozen=True)
class Answer:
    """What a tool said and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_phone(monkeypatch):
    """Whatever is connected to this machine is left alone."""
    monkeypatch.setenv("ADB_PATH", "/nowhere/adb")


@pytest.fixture
def call(capsys):
    """Calls a tool in this process; an expected failure must never show a traceback."""

    def run(main, *words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        answer = Answer(code, *capsys.readouterr())
        assert "Traceback" not in answer.err
        return answer

    return run


@pytest.fixture
def image(tmp_path):
    """A network of images."""
    return models.image_net(tmp_path / "image.onnx")


@pytest.fixture
def tokens(tmp_path):
    """A network of token ids."""
    return models.token_net(tmp_path / "tokens.onnx")


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """The net.json of the digit classifier, spatial first."""
    folder = tmp_path_factory.mktemp("digits")
    assert convert(["-i", str(DIGITS_MODEL), "-o", str(folder / "digits.cpp")]) == 0
    return folder / "digits_net.json"
