import json

import pytest

from edgewright.backends.qnn.options import Priority, ProfilingLevel
from edgewright.config.backend_config import BackendConfig, read_settings
from edgewright.config.run_settings import GraphProfiling, QueueLimits
from edgewright.core.errors import BadInput, EdgewrightError, LimitExceeded, UsageError
from edgewright.run.context.config import find_target, make_htp_options, read_backend_config
from edgewright.targets.soc import find_soc

COURSE = """// backend_config.json
{
  "htp_config": {"device_id": 0, "performance_mode": "high_performance", "precision_mode": "int8",
                 "vtcm_mb": 8, "enable_dma": true},
  "gpu_config": {"device_id": 0, "performance_mode": "sustained_high_performance",
                 "precision_mode": "fp16", "enable_transform_optimization": true},
  "cpu_config": {"num_threads": 4, "performance_mode": "balanced", "enable_fast_math": true}
}"""
EXTENSIONS = {
    "graphs": [
        {"graph_names": ["a", "b"], "vtcm_mb": 8, "fp16_relaxed_precision": 1, "hvx_threads": 2, "O": 3},
        {"graph_names": ["b"], "dlbc": 1, "O": 1},
    ],
    "devices": [
        {
            "soc_model": 57,
            "dsp_arch": "v75",
            "pd_session": "unsigned",
            "cores": [{"core_id": 0, "perf_profile": "burst", "rpc_control_latency": 100}],
        }
    ],
    "context": {"weight_sharing_enabled": True},
}


def written(folder, document, name="config.json"):
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def test_the_course_file_is_read_with_its_comments_and_counts_for_the_chosen_backend(tmp_path):
    path = written(tmp_path, COURSE)
    htp = read_backend_config(path, "htp")
    assert htp.settings_for("any").vtcm_mb == 8
    assert read_backend_config(path, "cpu").threads == 4
    assert "section 'gpu_config' has no effect: the backend is htp" in htp.notes
    assert "key 'htp_config.enable_dma' has no effect: it is for a device" in htp.notes
    assert not any("gpu_config." in note for note in htp.notes)


def test_the_extensions_file_is_found_beside_the_file_that_names_it(tmp_path):
    written(tmp_path, EXTENSIONS, "htp.json")
    outer = {
        "backend_extensions": {
            "shared_library_path": "libQnnHtpNetRunExtensions.so",
            "config_file_path": "htp.json",
        },
        "context_configs": {"context_priority": "high", "enable_graphs": ["a"]},
    }
    found = read_backend_config(written(tmp_path, outer), "htp")
    assert (found.soc_model, found.dsp_arch, found.is_weight_sharing) == (57, "v75", True)
    assert (found.priority, found.enable_graphs) == ("high", ("a",))
    assert found.settings_for("a").optimization_level == 3


def test_later_settings_of_a_graph_come_before_earlier_ones():
    found = read_settings(EXTENSIONS, "f", "htp").settings_for("b")
    assert found.as_numbers() == {
        "vtcm_mb": 8,
        "fp16_relaxed_precision": 1,
        "hvx_threads": 2,
        "optimization_level": 1,
        "dlbc": 1,
    }
    assert read_settings(EXTENSIONS, "f", "htp").settings_for("c").as_numbers() == {}


def test_settings_that_name_no_graph_are_ignored_and_that_is_said():
    found = read_settings({"graphs": {"vtcm_mb": 8}}, "f", "htp")
    assert found.settings_for("a").as_numbers() == {}
    assert "settings in 'graphs' have no effect: 'graph_names' names no graph" in found.notes


def test_everything_becomes_options_of_the_library():
    config = read_settings(EXTENSIONS | {"context_configs": {"context_priority": "low"}}, "f", "htp")
    chip = find_target(None, config)
    options = make_htp_options(chip, config, {"a": config.settings_for("a")}, "detailed")
    assert (options.soc_model, options.is_weight_sharing, options.priority) == (57, True, Priority.LOW)
    assert options.profiling == ProfilingLevel.DETAILED
    chosen = options.options_of("a")
    assert (chosen.vtcm_mb, chosen.is_fp16_relaxed, chosen.optimization_level) == (8, True, 3)


@pytest.mark.parametrize(
    ("document", "what", "do"),
    [
        ({"graph": []}, "key 'graph' is unknown", "did you mean 'graphs'?"),
        ({"htp_config": {"vtcm": 8}}, "key 'htp_config.vtcm' is unknown", "did you mean 'vtcm_mb'?"),
        ({"devices": [{"socmodel": 1}]}, "key 'devices.socmodel' is unknown", "did you mean 'soc_model'?"),
        ({"graphs": [{"O": 4}]}, "key 'graphs.O' is '4', expected a whole number from 1 to 3", ""),
        ({"graphs": [{"O": True}]}, "key 'graphs.O' is 'True', expected a whole number from 1 to 3", ""),
        ({"graphs": 5}, "graphs is '5', expected an object", ""),
        ({"context_configs": {"enable_graphs": "a"}}, "is 'a', expected a list of names", ""),
        ({"context_configs": {"context_priority": "top"}}, "expected one of: low, normal", ""),
        ({"context_configs": []}, "context_configs is a list, expected an object", ""),
        ([], "the file is a list, expected an object", ""),
        ({"devices": [{}, {}]}, "'devices' has 2 entries", "keep the device"),
        ({"devices": [{"soc_id": 1, "soc_model": 57}]}, "two chips are named", "keep one"),
    ],
)
def test_a_wrong_file_is_one_error_that_names_the_key(document, what, do):
    with pytest.raises(BadInput) as found:
        read_settings(document, "f.json", "htp")
    assert what in found.value.what
    assert do in found.value.do


def test_all_unknown_keys_are_reported_together():
    with pytest.raises(EdgewrightError) as found:
        read_settings({"a": 1, "b": 2}, "f.json", "htp")
    assert len(found.value.errors) == 2


@pytest.mark.parametrize(
    ("text", "kind"), [("{", BadInput), ("\xff", BadInput), ("[" * 100_000, LimitExceeded)]
)
def test_a_damaged_file_is_one_error(text, kind, tmp_path):
    with pytest.raises(kind):
        read_backend_config(written(tmp_path, text), "htp")


def test_a_missing_extensions_file_is_named(tmp_path):
    outer = written(tmp_path, {"backend_extensions": {"config_file_path": "nowhere.json"}})
    with pytest.raises(BadInput, match=r"nowhere\.json"):
        read_backend_config(outer, "htp")


def test_files_that_name_each_other_in_a_ring_are_refused(tmp_path):
    outer = written(tmp_path, {"backend_extensions": {"config_file_path": "config.json"}})
    with pytest.raises(BadInput, match="names another one"):
        read_backend_config(outer, "htp")


def test_a_target_is_taken_from_the_option_or_the_file_but_not_from_both():
    config = BackendConfig(soc_model=57)
    assert find_target("SM8650", config) == find_target(None, config) == find_soc("SM8650")
    assert find_target(None, BackendConfig(dsp_arch="v73")).name == "SM8550"
    assert find_target(None, BackendConfig()) is None
    with pytest.raises(UsageError, match="SM8550"):
        find_target("SM8550", config)
    with pytest.raises(UsageError, match="expected v75"):
        find_target(None, BackendConfig(soc_model=57, dsp_arch="v73"))


RUNNING = {
    "context_configs": {"async_execute_queue_depth": 3},
    "graph_configs": [
        {"graph_name": "a", "graph_profiling_start_delay": 0.5, "graph_profiling_num_executions": 7},
        {"graph_name": "b", "graph_priority": "low"},
    ],
    "profile_configs": {"num_max_events": 50},
    "async_graph_execution_config": {
        "input_tensors_creation_tasks_limit": 2,
        "execute_enqueue_tasks_limit": 4,
    },
}


def test_what_a_file_says_about_executions(tmp_path):
    running = read_backend_config(written(tmp_path, RUNNING), "cpu").running
    assert running.limits == QueueLimits(depth=3, creation_tasks=2, enqueue_tasks=4)
    assert (running.most_events, running.profiling) == (50, (("a", GraphProfiling(0.5, 7)),))


def test_limits_that_are_not_given_are_the_depth_of_the_queue(tmp_path):
    only = {"async_graph_execution_config": {"execute_enqueue_tasks_limit": 4}}
    assert read_backend_config(written(tmp_path, only), "cpu").running.limits == QueueLimits(10, 10, 4)
    deep = {"context_configs": {"async_execute_queue_depth": 5}}
    assert read_backend_config(written(tmp_path, deep), "cpu").running.limits == QueueLimits(5, 5, 5)


def test_without_a_word_about_queues_there_is_none(tmp_path):
    assert read_backend_config(written(tmp_path, EXTENSIONS), "htp").running.limits is None


def test_settings_of_executions_are_kept_beside_a_file_of_extensions(tmp_path):
    written(tmp_path, EXTENSIONS, "htp.json")
    outer = RUNNING | {"backend_extensions": {"config_file_path": "htp.json"}}
    assert read_backend_config(written(tmp_path, outer), "htp").running.queue_depth == 3


def test_where_nothing_is_executed_its_settings_are_said_to_be_idle(tmp_path):
    notes = read_backend_config(written(tmp_path, RUNNING), "htp").running.idle_notes()
    assert "key 'context_configs.async_execute_queue_depth' has no effect: nothing is executed" in notes
    assert len(notes) == 6


@pytest.mark.parametrize("depth", [0, 4097, "3", True])
def test_a_queue_has_a_sensible_depth(depth):
    with pytest.raises(BadInput, match="expected a whole number from 1 to 4096"):
        read_settings({"context_configs": {"async_execute_queue_depth": depth}}, "c.json", "cpu")
