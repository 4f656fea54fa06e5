"""The course chapter on the QNN suite; lines are those of its own text."""

from dataclasses import replace

from tests.guide.example import COURSE, Example, absent

CONFIG = """// quantization_config.json
{
  "activation_encodings": {
    "conv1_1": {"bitwidth": 8, "max": 6.0, "min": 0.0, "scale": 0.023529, "offset": 0}
  },
  "param_encodings": {
    "conv1_w_0": {"bitwidth": 8, "max": 2.5, "min": -2.5, "scale": 0.019608, "offset": 127}
  },
  "activation_bitwidth": 8,
  "param_bitwidth": 8,
  "bias_bitwidth": 32
}
"""
BACKENDS = """// backend_config.json
{
  "htp_config": {
    "device_id": 0,
    "performance_mode": "high_performance",
    "precision_mode": "int8",
    "vtcm_mb": 8,
    "enable_dma": true
  },
  "gpu_config": {
    "device_id": 0,
    "performance_mode": "sustained_high_performance",
    "precision_mode": "fp16",
    "enable_transform_optimization": true
  },
  "cpu_config": {
    "num_threads": 4,
    "performance_mode": "balanced",
    "enable_fast_math": true
  }
}
"""
CLASSES = "tests/unit/compat/test_course.py"
PAGE = "docs/guide/course.md, which tests/test_docs.py runs"
CONVERT = "qnn-onnx-converter --input_network three.onnx --output_path simple_model.cpp --input_dim data_0 1,3,8,8 --quantization_overrides quantization_config.json"

_EXAMPLES = (
    Example(
        (63, 68),
        "variables of the environment",
        """export PATH=$QNN_SDK_ROOT/bin:$PATH
        export LD_LIBRARY_PATH=$QNN_SDK_ROOT/lib:$LD_LIBRARY_PATH
        command -v qnn-net-run""",
        ("sdk",),
        says=("sdk/bin/qnn-net-run",),
        shell=True,
    ),
    absent(74, 83, "a virtual environment", "makes an environment of Python"),
    absent(87, 89, "Python packages", "installs packages"),
    Example(
        (93, 98),
        "tools are there",
        """qnn-model-lib-generator --help
        qnn-context-binary-generator --help
        qnn-net-run --help""",
        says=("usage: qnn-net-run",),
    ),
    Example(
        (108, 151), "a model of torch is exported and converted", test="tests/cli/test_pytorch_converter.py"
    ),
    Example(
        (155, 162),
        "the ONNX file is converted with overrides",
        CONVERT,
        ("three",),
        {"quantization_config.json": CONFIG},
        leaves=("simple_model.cpp", "simple_model.bin"),
    ),
    Example(
        (166, 174),
        "a model library, named as a file",
        "qnn-model-lib-generator -c model.cpp -b model.bin -t x86_64-linux-clang -l simple_model -o simple_model_qnn.so",
        ("converted",),
        leaves=("simple_model_qnn.so",),
        mark="exhaustive",
    ),
    Example(
        (194, 231),
        "overrides, a target and a level",
        CONVERT + " --target_device hexagon --optimization_level high",
        ("three",),
        {"quantization_config.json": CONFIG},
        leaves=("simple_model.cpp",),
    ),
    Example((237, 246), "a library for a phone and three backends", test="tests/cli/test_model_library.py"),
    Example(
        (250, 258),
        "a context binary, named after the model",
        """qnn-context-binary-generator --model libQnnModel.so --backend libQnnHtp.so \\
            --output_dir ./context_binaries --input_list input_list.txt --optimization_level high""",
        ("library",),
        leaves=("context_binaries/*.bin",),
    ),
    Example((262, 318), "QNNInference", test=CLASSES),
    Example((324, 333), "a folder for deployment", test="tests/cli/test_build.py"),
    Example(
        (341, 363),
        "a configuration of three backends",
        """qnn-net-run --model model_net.json --backend libQnnHtp.so --config_file backend_config.json \\
            --input_list input_list.txt""",
        ("converted",),
        {"backend_config.json": BACKENDS},
        leaves=("output/Result_0/*.raw",),
    ),
    Example((369, 419), "DynamicQuantization", test=CLASSES),
    Example((425, 478), "QNNProfiler", test=CLASSES),
    Example((484, 551), "BackendSelector", test=CLASSES),
    Example(
        (590, 597),
        "the SDK's tools and library are there",
        """echo $QNN_SDK_ROOT
        ls $QNN_SDK_ROOT/bin/qnn-*
        ls $QNN_SDK_ROOT/lib/libQnn.so""",
        ("sdk",),
        says=("bin/qnn-net-run", "lib/libQnn.so"),
        shell=True,
    ),
    Example(
        (600, 607),
        "a conversion that says more",
        "qnn-onnx-converter --input_network model.onnx --output_path model.cpp --debug --log_level verbose",
        ("digits",),
        leaves=("model.cpp",),
    ),
    Example((610, 621), "validate_quantization_range", test=CLASSES),
    absent(624, 631, "a phone's clocks", "reads files of a phone"),
    Example((634, 645), "memory of an inference", test=CLASSES),
    Example((648, 663), "check_backend_support", test=CLASSES),
    Example((667, 707), "QNNDebugger", test=CLASSES),
)
EXAMPLES = tuple(replace(example, book=COURSE) for example in _EXAMPLES)
