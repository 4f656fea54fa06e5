import pytest

from edgewright.config.group import build
from edgewright.config.net_run import (
    NET_RUN,
    NET_RUN_RULES,
    PERF_PROFILES,
    InputFiles,
    NetRunLog,
    OutputFiles,
    Profiling,
    choose_threads,
)
from edgewright.core.errors import UsageError


def together(**values):
    """The groups of the tool, from values by field name, as a command line would make them."""
    chosen = {"backend": "cpu", "input_list": ("l.txt",), **values}
    return build(
        NET_RUN, [{n: v for n, v in chosen.items() if n in kind.options()} for kind in NET_RUN], NET_RUN_RULES
    )


def test_the_smallest_command_works():
    model, inputs, outputs, *_ = together(models=("m_net.json",))
    assert (model.models, inputs.input_list, outputs.output_dir) == (("m_net.json",), ("l.txt",), "./output")


def test_a_model_or_a_context_is_required():
    with pytest.raises(UsageError) as caught:
        together()
    assert str(caught.value) == (
        "error[usage]: none of the options '--model' or '--retrieve_context' was given, "
        "expected one of them\n"
        "  do:    add '--model' or '--retrieve_context'"
    )


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        ("--model", "--retrieve_context", {"models": ("m",), "retrieve_context": "c"}),
        ("--debug", "--retrieve_context", {"debug": True, "retrieve_context": "c"}),
        (
            "--set_output_tensors",
            "--retrieve_context",
            {"set_output_tensors": (("g", ("t",)),), "retrieve_context": "c"},
        ),
        (
            "--debug",
            "--set_output_tensors",
            {"models": ("m",), "debug": True, "set_output_tensors": (("g", ("t",)),)},
        ),
        (
            "--use_native_input_files",
            "--native_input_tensor_names",
            {"models": ("m",), "use_native_input_files": True, "native_input_tensor_names": ("x",)},
        ),
        (
            "--max_input_cache_tensor_sets",
            "--max_input_cache_size_mb",
            {"models": ("m",), "max_input_cache_tensor_sets": 1, "max_input_cache_size_mb": 1},
        ),
    ],
)
def test_options_that_exclude_each_other(first, second, values):
    with pytest.raises(UsageError, match=f"'{first}' and '{second}' were given together"):
        together(**values)


@pytest.mark.parametrize(
    ("option", "other", "values"),
    [
        ("--retrieve_context_timeout", "--retrieve_context", {"retrieve_context_timeout": 5}),
        (
            "--graph_profiling_num_executions",
            "--graph_profiling_start_delay",
            {"graph_profiling_num_executions": 5},
        ),
    ],
)
def test_options_that_need_another(option, other, values):
    with pytest.raises(UsageError, match=f"'{option}' was given without '{other}', which it needs"):
        together(models=("m",), **values)


@pytest.mark.parametrize(
    "library", ["libQnnModelDlc.so", "lib/libQnnModelDlc.so", "C:\\lib\\QnnModelDlc.dll"]
)
def test_a_dlc_with_its_library_passes_the_rule(library):
    together(models=(library,), dlc_path=("m.dlc",))


def test_a_dlc_without_its_library_says_which_one():
    with pytest.raises(UsageError, match=r"goes with --model libQnnModelDlc\.so, found 'm\.so'"):
        together(models=("m.so",), dlc_path=("m.dlc",))


def test_basic_profiling_is_built():
    assert Profiling(profiling_level="basic").profiling_level == "basic"


def test_a_delay_without_profiling_is_said_to_do_nothing():
    assert Profiling(graph_profiling_start_delay=1.0).warnings() == [
        "without --profiling_level these options have no effect: --graph_profiling_start_delay"
    ]


@pytest.mark.parametrize(
    ("profile", "threads"),
    [("burst", 0), ("default", 0), ("low_balanced", 4), ("power_saver", 1), ("extreme_power_saver", 1)],
)
def test_profiles_that_save_power_use_fewer_threads(profile, threads):
    assert profile in PERF_PROFILES
    assert choose_threads(profile, cores=8) == threads


def test_a_profile_leaves_at_least_one_thread():
    assert choose_threads("low_balanced", cores=1) == 1


@pytest.mark.parametrize(
    ("values", "native"),
    [
        ({}, []),
        ({"use_native_input_files": True}, ["a", "b"]),
        ({"input_data_type": "native"}, ["a", "b"]),
        ({"native_input_tensor_names": ("b",)}, ["b"]),
    ],
)
def test_which_inputs_are_native(values, native):
    group = InputFiles(input_list=("l",), **values)
    assert [name for name in ("a", "b") if group.is_native(name)] == native


@pytest.mark.parametrize(
    ("values", "forms"),
    [
        ({}, (False,)),
        ({"use_native_output_files": True}, (True,)),
        ({"output_data_type": "native_only"}, (True,)),
        ({"output_data_type": "float_and_native"}, (False, True)),
    ],
)
def test_which_files_an_output_has(values, forms):
    assert OutputFiles(**values).forms == forms


def test_the_tool_is_as_loud_as_asked():
    assert (NetRunLog().loudness, NetRunLog(log_level="debug").loudness) == (None, "debug")
