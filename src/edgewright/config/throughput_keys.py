"""The keys of qnn-throughput-net-run's configuration file: what each may hold."""

from edgewright.config.backend_keys import Key
from edgewright.config.net_run import PERF_PROFILES

POST_PROCESSORS = ("NONE", "MSE", "MSE_FLOAT32", "MSE_INT8", "MSE_INT16")


def _accept_text(*choices: str, is_required: bool = False) -> Key:
    return Key("text", choices=choices, is_required=is_required)


def _accept_name() -> Key:
    return _accept_text(is_required=True)


def _accept_list(keys: dict[str, Key]) -> Key:
    return Key("object", keys=keys, is_listed=True, is_numbered=True, is_required=True)


_BACKEND = {
    "backendName": _accept_name(),
    "backendPath": _accept_name(),
    "profilingLevel": _accept_text("OFF", "BASIC", "DETAILED"),
    "backendExtensions": _accept_text(),
    "perfProfile": _accept_text(*PERF_PROFILES),
    "opPackagePath": _accept_text(),
    "platformOption": _accept_text(),
}
_MODEL = {
    "modelName": _accept_name(),
    "modelPath": _accept_name(),
    "loadFromCachedBinary": Key("boolean"),
    "inputPath": _accept_text(),
    "inputDataType": _accept_text("NATIVE", "FLOAT"),
    "postProcessor": _accept_text(*POST_PROCESSORS),
    "outputPath": _accept_text(),
    "outputDataType": _accept_text("NATIVE_ONLY", "FLOAT_ONLY", "FLOAT_AND_NATIVE"),
    "saveOutput": _accept_text("NONE", "NATIVE_LAST", "NATIVE_ALL"),
    "groundTruthPath": _accept_text(),
}
_CONTEXT = {
    "contextName": _accept_name(),
    "priority": _accept_text("DEFAULT", "LOW", "NORMAL", "NORMAL_HIGH", "HIGH"),
    "executeAsyncQueueDepth": Key("integer", 1, 4096),
    "cacheCompatibilityMode": _accept_text("permissive", "strict"),
}
_THREAD = {
    "threadName": _accept_name(),
    "backend": _accept_name(),
    "context": _accept_name(),
    "model": _accept_name(),
    "initModelInLoop": Key("boolean"),
    "loadInputDataInLoop": Key("boolean"),
    "useRandomData": Key("boolean"),
    "interval": Key("integer", 0, 3_600_000_000),
    "loopUnit": _accept_text("count", "second", "seconds"),
    "loop": Key("integer", 1),
    "executeAsynchronous": Key("boolean"),
    "backendConfig": _accept_text(),
}
_TEST_CASE = {
    "iteration": Key("integer", -(2**63), is_required=True),
    "logLevel": _accept_text("error", "warn", "info", "debug", "verbose"),
    "threads": _accept_list(_THREAD),
}
CASE_KEYS: dict[str, Key] = {
    "backends": _accept_list(_BACKEND),
    "models": _accept_list(_MODEL),
    "contexts": _accept_list(_CONTEXT),
    "testCase": Key("object", keys=_TEST_CASE, is_required=True),
}
