"""qnn-pytorch-converter, qairt-converter and edgewright with PyTorch programs."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.qairt_converter import main as qairt
from edgewright.tools.qnn_pytorch_converter import main
from edgewright.tools.umbrella import main as umbrella
from tests.unit.frontends.pytorch.hostile import WEIGHT, make_code, module_with_state, write


@pytest.fixture
def image(torch, tmp_path):
    """A small classifier of images, traced: the file holds no shapes."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU6(), torch.nn.Dropout()
    ).eval()
    torch.jit.trace(layers, torch.randn(1, 3, 8, 8)).save(str(tmp_path / "image.pt"))
    return tmp_path / "image.pt"


@pytest.fixture
def tokens(torch, tmp_path):
    torch.jit.script(torch.nn.Embedding(10, 4)).save(str(tmp_path / "tokens.pt"))
    return tmp_path / "tokens.pt"


def script(folder, name="m.pt"):
    """An archive that looks like TorchScript."""
    with zipfile.ZipFile(folder / name, "w") as file:
        file.writestr("m/constants.pkl", b"\x80\x02).")
        file.writestr("m/code/__torch__/m.py", "")
    return folder / name


def test_a_traced_module_is_converted_spatial_first_under_the_users_name(call, image, tmp_path):
    answer = call(main, "-i", image, "-d", "input", "1,3,8,8", "-o", tmp_path / "out/m.cpp")
    assert answer.code == 0, answer.err
    model = ew.load(tmp_path / "out/m_net.json")
    assert (model.inputs[0].name, model.inputs[0].shape) == ("input", (1, 8, 8, 3))


def test_the_written_model_computes_what_torch_computes(call, torch, image, tmp_path):
    assert call(main, "-i", image, "-d", "x", "1,3,8,8", "--preserve_io", "-o", tmp_path / "m.cpp").code == 0
    x = torch.randn(1, 3, 8, 8)
    with torch.no_grad():
        want = torch.jit.load(str(image))(x).numpy()
    model = ew.load(tmp_path / "m_net.json")
    found = next(iter(model.run({"x": x.numpy()}).values()))
    np.testing.assert_allclose(found, want, atol=1e-4)


def test_shapes_that_the_file_does_not_store_are_asked_for(call, image):
    answer = call(main, "-i", image)
    assert answer.code == 2
    assert "TorchScript does not store the shapes of its inputs" in answer.err
    assert "--input_dim 'input' N,N,..." in answer.err


def test_output_names_are_written_for_who_asks(call, image, tmp_path):
    words = ("-i", image, "-d", "x", "1,3,8,8", "--dump_out_names", "-o", tmp_path / "out/m.cpp")
    assert call(main, *words).code == 0
    names = json.loads((tmp_path / "out/model_output_names.json").read_text())
    assert names == {"_2_hardtanh": "2.hardtanh"}


def test_a_dry_run_counts_the_programs_own_ops_and_writes_nothing(call, image, tmp_path):
    answer = call(main, "-i", image, "-d", "x", "1,3,8,8", "--dry_run")
    assert answer.code == 0
    assert "aten::_convolution" in answer.out
    assert "100.0 % of the nodes" in answer.out
    assert [p.name for p in tmp_path.iterdir()] == ["image.pt"]


def test_the_imported_graph_is_dumped_as_text(call, image, tmp_path):
    assert call(main, "-i", image, "-d", "x", "1,3,8,8", "--dump_relay", tmp_path / "g.txt").code == 0
    assert "Conv2d" in (tmp_path / "g.txt").read_text()


def test_indices_become_integers_without_an_option(call, tokens, tmp_path):
    assert call(main, "-i", tokens, "-d", "ids", "1,5", "-o", tmp_path / "m.cpp").code == 0
    assert ew.load(tmp_path / "m_net.json").inputs[0].dtype == "int32"


def test_the_type_of_an_input_is_the_one_that_is_given(call, torch, tmp_path):
    class Shift(torch.nn.Module):
        def forward(self, x):
            return x + 1

    torch.jit.script(Shift()).save(str(tmp_path / "s.pt"))
    words = (
        "-i",
        tmp_path / "s.pt",
        "-d",
        "x",
        "1,5",
        "--input_dtype",
        "x",
        "int32",
        "-o",
        tmp_path / "m.cpp",
    )
    assert call(main, *words).code == 0
    model = ew.load(tmp_path / "m_net.json")
    assert {item.dtype for item in (*model.inputs, *model.outputs)} == {"int32"}


def test_qairt_converter_takes_programs_and_keeps_their_layout(call, image, tmp_path):
    answer = call(qairt, "-i", image, "-d", "x", "1,3,8,8", "-o", tmp_path / "m.dlc")
    assert answer.code == 0, answer.err
    assert ew.load(tmp_path / "m.dlc").inputs[0].shape == (1, 3, 8, 8)


def test_an_export_needs_no_shapes(call, torch, tmp_path):
    program = torch.export.export(torch.nn.Linear(4, 3).eval(), (torch.randn(2, 4),))
    torch.export.save(program, tmp_path / "m.pt2")
    assert call(main, "-i", tmp_path / "m.pt2", "-o", tmp_path / "m.cpp").code == 0
    assert ew.load(tmp_path / "m_net.json").outputs[0].name == "linear"


def test_a_checkpoint_is_refused_and_the_way_out_is_named(call, torch, tmp_path):
    torch.save(torch.nn.Linear(2, 2).state_dict(), tmp_path / "weights.pt")
    for tool in (main, qairt):
        answer = call(tool, "-i", tmp_path / "weights.pt", "-d", "x", "1,2")
        assert answer.code == 3
        assert "the file is a checkpoint" in answer.err
        assert "torch.jit.trace(model, example)" in answer.err


def test_an_unsupported_program_lists_all_that_is_missing(call, torch, tmp_path):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.pinv(x) + torch.linalg.eigvalsh(x).sum()

    torch.jit.trace(Odd(), torch.eye(3)).save(str(tmp_path / "odd.pt"))
    answer = call(main, "-i", tmp_path / "odd.pt", "-d", "x", "3,3")
    assert answer.code == 4
    assert "aten::linalg_pinv" in answer.err
    assert "aten::linalg_eigvalsh" in answer.err
    assert [p.name for p in tmp_path.iterdir()] == ["odd.pt"]


def test_a_converted_model_is_compared_with_its_program_in_torch(call, image, tmp_path):
    assert call(main, "-i", image, "-d", "x", "1,3,8,8", "-o", tmp_path / "m.cpp").code == 0
    answer = call(umbrella, "run", tmp_path / "m_net.json", "--random", "--compare", image, "--json")
    (error,) = json.loads(answer.out)["errors"]
    assert (answer.code, error["is_close"]) == (0, True)


def test_a_comparison_in_torch_notices_another_program(call, torch, image, tmp_path):
    other = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Hardtanh()).eval()
    torch.jit.trace(other, torch.randn(1, 3, 8, 8)).save(str(tmp_path / "other.pt"))
    assert call(main, "-i", image, "-d", "x", "1,3,8,8", "-o", tmp_path / "m.cpp").code == 0
    answer = call(umbrella, "run", tmp_path / "m_net.json", "--random", "--compare", tmp_path / "other.pt")
    assert (answer.code, "which the file it is compared with has" in answer.err) == (2, True)


def test_integers_and_numbers_reach_the_program_as_it_wants_them(call, torch, tokens, tmp_path):
    class Slow(torch.nn.Module):
        def forward(self, x, times: int):
            for _ in range(times):
                x = x * 0.5
            return x

    torch.jit.script(Slow()).save(str(tmp_path / "slow.pt"))
    values = ("-d", "x", "1,4", "--input_value", "times", "3")
    for words in ((tokens, "-d", "ids", "1,5"), (tmp_path / "slow.pt", *values)):
        answer = call(umbrella, "run", *words, "--random", "--compare")
        assert (answer.code, "in torch" in answer.out) == (0, True), answer.err


def test_a_checkpoint_is_not_compared_with(call, digits, torch, tmp_path):
    torch.save({"w": torch.zeros(2)}, tmp_path / "w.pt")
    answer = call(umbrella, "run", digits, "--random", "--compare", tmp_path / "w.pt")
    assert (answer.code, "reading a pickle can run any code" in answer.err) == (3, True)


def test_an_exported_program_is_compared_op_by_op(call, torch, tmp_path):
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU()).eval()
    program = torch.export.export(layers, (torch.randn(1, 3, 8, 8),))
    torch.export.save(program, tmp_path / "m.pt2")
    answer = call(umbrella, "run", tmp_path / "m.pt2", "--random", "--compare", "--json")
    (error,) = json.loads(answer.out)["errors"]
    assert (answer.code, error["share"] < 1e-5) == (0, True)


COLOURED = """
- IOName: x
  Layout:
    Model: NCHW
    Custom: NHWC
  Datatype: float16
"""


def test_custom_io_changes_inputs_and_outputs_of_a_program(call, torch, image, tmp_path):
    (tmp_path / "io.yaml").write_text(COLOURED)
    words = ("-i", image, "-d", "x", "1,3,8,8", "--custom_io", tmp_path / "io.yaml", "-o", tmp_path / "m.cpp")
    answer = call(main, *words)
    assert answer.code == 0, answer.err
    model = ew.load(tmp_path / "m_net.json")
    assert (model.inputs[0].dtype, model.inputs[0].shape) == ("float16", (1, 8, 8, 3))
    pixels = np.random.default_rng(0).uniform(0, 1, (1, 3, 8, 8)).astype(np.float16)
    with torch.no_grad():
        want = torch.jit.load(str(image))(torch.from_numpy(pixels.astype(np.float32))).numpy()
    (found,) = model.run({"x": pixels.transpose(0, 2, 3, 1)}).values()
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), want, atol=1e-3)


@pytest.mark.parametrize("colours", ["rgba", "nv12", "bgr"])
def test_colours_become_those_of_the_program(call, torch, image, tmp_path, colours):
    words = ("-i", image, "-d", "x", "1,3,8,8", "--input_encoding", "x", colours, "rgb")
    answer = call(main, *words, "-o", tmp_path / "m.cpp")
    assert answer.code == 0, answer.err
    model = ew.load(tmp_path / "m_net.json")
    pixels = np.random.default_rng(0).uniform(0, 255, (1, 3, 8, 8)).astype(np.float32)
    pixels[:] = pixels[:, :1, :1, :1] if colours == "nv12" else pixels
    given = {
        "bgr": pixels[:, ::-1].transpose(0, 2, 3, 1),
        "rgba": np.concatenate([pixels, np.zeros_like(pixels[:, :1])], 1).transpose(0, 2, 3, 1),
        "nv12": np.concatenate([16 + pixels[:, 0].reshape(1, 64) * 219 / 255, np.full((1, 32), 128.0)], 1),
    }[colours]
    with torch.no_grad():
        want = torch.jit.load(str(image))(torch.from_numpy(pixels)).numpy()
    (found,) = model.run({"x": np.ascontiguousarray(given, np.float32)}).values()
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), want, atol=0.02)


def test_a_library_of_custom_ops_is_said_to_be_code(call, image, tmp_path, caplog):
    lib = tmp_path / "lib.so"
    lib.write_bytes(b"no library")
    answer = call(main, "-i", image, "-d", "x", "1,3,8,8", "-pcl", lib)
    assert answer.code == 3
    assert "the library cannot be loaded" in answer.err
    assert "a library is code, and it runs now" in caplog.text + answer.err


def test_without_torch_the_way_to_install_it_is_named(tmp_path):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from edgewright.tools.qnn_pytorch_converter import main\n"
        f"sys.exit(main(['-i', {str(script(tmp_path))!r}, '-d', 'x', '1,3']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "package 'torch' is not installed; it is needed to read PyTorch models" in done.stderr
    assert "pip install 'edgewright[pytorch]'" in done.stderr


def test_damaged_programs_are_clean_errors(call, torch, image):
    whole = image.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(40):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 6):
            data[place] ^= int(rng.integers(1, 256))
        image.write_bytes(bytes(data))
        assert call(main, "-i", image, "-d", "x", "1,3,8,8", "--dry_run").code in {0, 3, 4}


def test_inspecting_a_program_runs_nothing_of_it(call, torch, tmp_path):
    assert torch
    mark = tmp_path / "mark"
    code = make_code(setstate=f"torch.save (state, '{mark}')\nreturn None")
    path = write(tmp_path / "m.pt", code=code, data=module_with_state(WEIGHT))
    answer = call(umbrella, "inspect", path, "-d", "x", "4")
    assert answer.code == 0, answer.err
    assert "'aten::save'" in answer.out
    assert "Traceback" not in answer.err + answer.out
    assert not mark.exists()
