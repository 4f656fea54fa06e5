import copy

import pytest

from edgewright.config.throughput_case import parse_case
from edgewright.core.errors import BadInput, EdgewrightError, Problems

CASE = {
    "backends": [
        {"backendName": "cpu", "backendPath": "libQnnCpu.so"},
        {
            "backendName": "htp",
            "backendPath": "libQnnHtp.so",
            "profilingLevel": "BASIC",
            "backendExtensions": "libQnnHtpNetRunExtensions.so",
            "perfProfile": "high_performance",
            "opPackagePath": "a.so:Provider",
            "platformOption": "key:value",
        },
    ],
    "models": [
        {"modelName": "m", "modelPath": "m_net.json", "inputPath": "m.txt"},
        {
            "modelName": "cached",
            "modelPath": "c.bin",
            "loadFromCachedBinary": True,
            "inputPath": "a.txt,__",
            "inputDataType": "FLOAT",
            "postProcessor": "MSE",
            "outputPath": "out",
            "outputDataType": "FLOAT_AND_NATIVE",
            "saveOutput": "NATIVE_ALL",
            "groundTruthPath": "g.txt,__",
        },
    ],
    "contexts": [
        {"contextName": "c"},
        {
            "contextName": "fast",
            "priority": "HIGH",
            "executeAsyncQueueDepth": 4,
            "cacheCompatibilityMode": "strict",
        },
    ],
    "testCase": {
        "iteration": 5,
        "logLevel": "error",
        "threads": [
            {"threadName": "t0", "backend": "cpu", "context": "c", "model": "m"},
            {
                "threadName": "t1",
                "backend": "htp",
                "context": "fast",
                "model": "cached",
                "loadInputDataInLoop": True,
                "interval": 10,
                "loopUnit": "second",
                "loop": 3,
                "executeAsynchronous": True,
                "backendConfig": "htp.json",
            },
        ],
    },
}


def changed(path, value):
    """The case with one value changed, or taken out where it is None."""
    document = copy.deepcopy(CASE)
    *way, last = path
    inner = document
    for step in way:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return document


def test_every_key_has_its_place():
    case = parse_case(CASE, "case.json", lambda name: f"found/{name}")
    first, second = case.threads
    assert (case.iterations, case.log_level, case.is_endless) == (5, "error", False)
    assert (first.count, first.seconds, first.interval, first.is_random) == (1, None, 0, False)
    assert (first.model.is_native, first.model.forms, first.model.save) == (True, (True,), "NONE")
    assert (first.backend.profiling, first.context.priority) == (None, None)
    assert (second.backend.profiling, second.backend.perf_profile) == ("basic", "high_performance")
    assert (second.backend.op_packages, second.backend.platform) == ("a.so:Provider", "key:value")
    assert (second.context.priority, second.context.queue_depth, second.context.is_strict) == (
        "high",
        4,
        True,
    )
    assert second.model.inputs == ("found/a.txt", "__")
    assert second.model.ground_truth == ("found/g.txt", "__")
    assert (second.model.forms, second.model.is_native) == ((False, True), False)
    assert (second.count, second.seconds, second.is_asynchronous) == (None, 3, True)
    assert second.config_file == "found/htp.json"


def test_a_negative_number_of_iterations_is_endless():
    assert parse_case(changed(("testCase", "iteration"), -1), "case.json").is_endless


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("backends",), None, "key 'backends' is missing, it is required"),
        (("backends", 1, "backendPath"), None, "key 'backends[1].backendPath' is missing, it is required"),
        (
            ("backends", 1, "backendName"),
            "cpu",
            "key 'backends[1].backendName' is 'cpu', which backends[0] has",
        ),
        (("models", 1, "modelName"), "m", "key 'models[1].modelName' is 'm', which models[0] has already"),
        (("contexts", 1, "contextName"), "c", "key 'contexts[1].contextName' is 'c', which contexts[0] has"),
        (
            ("testCase", "threads", 1, "threadName"),
            "t0",
            "key 'testCase.threads[1].threadName' is 't0', which testCase.threads[0] has already",
        ),
        (("testCase", "threads", 0, "threadName"), "../up", "is '../up', expected the name of a folder"),
        (("models", 0, "modelPaht"), "x", "did you mean 'modelPath'?"),
        (
            ("models", 0, "saveOutput"),
            "ALL",
            "key 'models[0].saveOutput' is 'ALL', expected one of: NONE, NATIVE_LAST, NATIVE_ALL",
        ),
        (("models", 0, "saveOutput"), "NATIVE_LAST", "but 'models[0].outputPath' is missing"),
        (("models", 0, "inputPath"), None, "model 'm' has no 'inputPath'"),
        (("testCase", "iteration"), None, "key 'testCase.iteration' is missing"),
        (("testCase", "iteration"), 0, "expected 1 or more, or less than 0"),
        (("testCase", "iteration"), "5", "key 'testCase.iteration' is '5', expected a whole number"),
        (("testCase", "threads"), [], "key 'testCase.threads' is empty"),
        (
            ("testCase", "threads", 0, "model"),
            "n",
            "key 'testCase.threads[0].model' names 'n', which is none of models: 'm', 'cached'",
        ),
        (("testCase", "threads", 1, "initModelInLoop"), True, "model 'cached' is loaded from a binary"),
        (("testCase", "threads", 1, "useRandomData"), True, "postProcessor 'MSE', which needs known inputs"),
        (("testCase", "threads", 0, "interval"), -1, "key 'testCase.threads[0].interval' is '-1'"),
        (("testCase", "threads", 0, "loopUnit"), "hours", "expected one of: count, second, seconds"),
        (("contexts", 1, "executeAsyncQueueDepth"), 0, "expected a whole number from 1 to 4096"),
    ],
)
def test_a_wrong_key_is_reported_with_its_path(path, value, why):
    with pytest.raises(EdgewrightError) as caught:
        parse_case(changed(path, value), "case.json")
    assert why in str(caught.value)
    assert "where: case.json" in str(caught.value)


def test_all_wrong_keys_are_reported_at_once():
    document = changed(("backends", 0, "backendPath"), None)
    document["models"][1]["inputDataType"] = 3
    document["testCase"]["threads"][1]["loop"] = 0
    with pytest.raises(Problems) as caught:
        parse_case(document, "case.json")
    assert len(caught.value.errors) == 3


@pytest.mark.parametrize("document", [[], None, "case", {}])
def test_what_is_no_case_at_all_is_an_error(document):
    with pytest.raises((BadInput, Problems)):
        parse_case(document, "case.json")
