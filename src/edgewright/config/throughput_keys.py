"""The keys of qnn-throughput-net-run's configuration file: what each may hold."""

from edgewright.config.backend_keys import Key
from edgewright.config.net_run import PERF_PROFILES

__all__ = ["CASE_KEYS", "POST_PROCESSORS"]

POST_PROCESSORS = ("NONE", "MSE", "MSE_FLOAT32", "MSE_INT8", "MSE_INT16")


def _text(*choices: str, is_required: bool = False) -> Key:
    return Key("text", choices=choices, is_required=is_required)


def _named() -> Key:
    return _text(is_required=True)


def _listed(keys: dict[str, Key]) -> Key:
    return Key("object", keys=keys, is_listed=True, is_numbered=True, is_required=True)


_BACKEND = {
    "backendName": _named(),
    "backendPath": _named(),
    "profilingLevel": _text("OFF", "BASIC", "DETAILED"),
    "backendExtensions": _text(),
    "perfProfile": _text(*PERF_PROFILES),
    "opPackagePath": _text(),
    "platformOption": _text(),
}
_MODEL = {
    "modelName": _named(),
    "modelPath": _named(),
    "loadFromCachedBinary": Key("boolean"),
    "inputPath": _text(),
    "inputDataType": _text("NATIVE", "FLOAT"),
    "postProcessor": _text(*POST_PROCESSORS),
    "outputPath": _text(),
    "outputDataType": _text("NATIVE_ONLY", "FLOAT_ONLY", "FLOAT_AND_NATIVE"),
    "saveOutput": _text("NONE", "NATIVE_LAST", "NATIVE_ALL"),
    "groundTruthPath": _text(),
}
_CONTEXT = {
    "contextName": _named(),
    "priority": _text("DEFAULT", "LOW", "NORMAL", "NORMAL_HIGH", "HIGH"),
    "executeAsyncQueueDepth": Key("integer", 1, 4096),
    "cacheCompatibilityMode": _text("permissive", "strict"),
}
_THREAD = {
    "threadName": _named(),
    "backend": _named(),
    "context": _named(),
    "model": _named(),
    "initModelInLoop": Key("boolean"),
    "loadInputDataInLoop": Key("boolean"),
    "useRandomData": Key("boolean"),
    "interval": Key("integer", 0, 3_600_000_000),
    "loopUnit": _text("count", "second", "seconds"),
    "loop": Key("integer", 1),
    "executeAsynchronous": Key("boolean"),
    "backendConfig": _text(),
}
_TEST_CASE = {
    "iteration": Key("integer", -(2**63), is_required=True),
    "logLevel": _text("error", "warn", "info", "debug", "verbose"),
    "threads": _listed(_THREAD),
}
CASE_KEYS: dict[str, Key] = {
    "backends": _listed(_BACKEND),
    "models": _listed(_MODEL),
    "contexts": _listed(_CONTEXT),
    "testCase": Key("object", keys=_TEST_CASE, is_required=True),
}
