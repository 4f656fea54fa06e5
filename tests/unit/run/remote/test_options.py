"""The words that a device's program gets, and the table that its validator writes."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from edgewright.config.net_run import Execution, InputFiles, Model, OutputFiles, Profiling
from edgewright.core.errors import EnvironmentProblem, UsageError
from edgewright.run.remote.job import DeviceProgram
from edgewright.run.remote.programs import Finished
from edgewright.sdk import device_net_run, device_platform

OURS, SDK = DeviceProgram("qnn-net-run (edgewright) 1"), DeviceProgram("QNN SDK v2.40.0")
HEADER = "Backend,Hardware,Backend Libraries,Library Version,Core Version,Unit Test\n"


def test_numbers_keep_all_digits():
    execution = Execution(num_inferences=1234567, duration=2.0, timeout=10000001)
    words = ["--num_inferences", "1234567", "--duration", "2", "--timeout", "10000001"]
    assert list(device_net_run._spell_execution(execution)) == words
    assert list(device_net_run._spell_execution(Execution(duration=0.25))) == ["--duration", "0.25"]


def test_tensors_of_several_graphs_are_one_option():
    outputs = OutputFiles(set_output_tensors=(("g", ("a", "b")), ("h", ("c",))))
    assert list(device_net_run._spell_outputs(outputs))[2:] == ["--set_output_tensors", "g:a,b;h:c"]


def test_no_option_is_lost():
    inputs = InputFiles(("l",), max_input_cache_tensor_sets=-1)
    assert list(device_net_run._spell_inputs(inputs)) == ["--max_input_cache_tensor_sets", "-1"]
    inputs = InputFiles(("l",), max_input_cache_size_mb=3)
    assert list(device_net_run._spell_inputs(inputs)) == ["--max_input_cache_size_mb", "3"]
    profiling = Profiling(graph_profiling_start_delay=0.5, graph_profiling_num_executions=7)
    words = ["--graph_profiling_start_delay", "0.5", "--graph_profiling_num_executions", "7"]
    assert list(device_net_run._spell_profiling(profiling)) == words
    model = Model("cpu", retrieve_context="c.bin", model_prefix="Mine", retrieve_context_timeout=9)
    words = ["--model_prefix", "Mine", "--retrieve_context_timeout", "9"]
    assert list(device_net_run._spell_model(model)) == words
    assert list(device_net_run._spell_model(Model("cpu", models=("m",)))) == []


def test_options_of_our_own_are_refused_by_the_sdk_program():
    model = Model("cpu", models=("m",), engine="openvino", allow_cpu_ops=True)
    words = ["--engine", "openvino", "--allow_cpu_ops"]
    assert device_net_run._spell_own_options(model, OURS) == words
    assert device_net_run._spell_own_options(Model("cpu", models=("m",)), SDK) == []
    with pytest.raises(UsageError, match="has no --engine"):
        device_net_run._spell_own_options(model, SDK)


@pytest.fixture
def validate(monkeypatch):
    """The checks of a device whose validator writes a table, or none."""

    def check(table):
        def execute(_files, _words, place, _program):
            (place / "output").mkdir()
            if table is not None:
                (place / "output/Result.csv").write_text(table)
            return Finished(0, "Unit Test on the backend: Failed\n", "")

        @contextmanager
        def open_device(_address):
            yield SimpleNamespace(execute=execute)

        monkeypatch.setattr(device_platform, "open_device", open_device)
        return device_platform.check_device_platform("ssh://board", [])

    return check


@pytest.mark.parametrize("table", [None, "", HEADER, HEADER + "cpu,Supported\n"])
def test_a_validator_without_a_table_is_an_error(validate, table):
    with pytest.raises(EnvironmentProblem, match=r"wrote no table Result\.csv, it said: Unit Test"):
        validate(table)


def test_a_test_that_failed_is_one_however_it_is_written(validate):
    table = HEADER + "cpu,Supported,Found,1,2,Passed\ndsp,Supported,Found,1,2,FAILED (code 3)\n"
    assert [check.unit_test for check in validate(table)] == ["Passed", "Failed"]
