"""Lines 4940 to 6160: quantization checker, accuracy evaluator, architecture checker."""

from tests.guide.example import Example, shown

ALGORITHMS = """  "WEIGHT_COMPARISON_ALGORITHMS": [{"algo_name": "minmax", "threshold": "10"},
    {"algo_name": "maxdiff", "threshold": "10"}, {"algo_name": "sqnr", "threshold": "26"}],
  "BIAS_COMPARISON_ALGORITHMS": [{"algo_name": "minmax", "threshold": "10"},
    {"algo_name": "maxdiff", "threshold": "10"}, {"algo_name": "sqnr", "threshold": "26"}],
  "ACT_COMPARISON_ALGORITHMS": [{"algo_name": "minmax", "threshold": "10"},
    {"algo_name": "data_range_analyzer", "threshold": "10"}]"""
CHECKER = f"""{{
  // options of the user
  "CLANG_PATH": "/usr/bin",
  "PY3_PATH": "/usr/bin",
  "BASH_PATH": "/bin",
  "BIN_PATH": "/usr/bin",
  "TENSORFLOW_HOME": "/usr",
  "TFLITE_HOME": "/usr",
  "ONNX_HOME": "/usr",
  "MODEL_PATH": "model.onnx",
  "INPUT_LIST_PATH": "input_list.txt",
  "OUTPUT_DIR_PATH": "out",
  "QUANTIZATION_VARIATIONS": ["tf"],
  "QUANTIZATION_ALGORITHMS": ["pcq"],
{ALGORITHMS},
  "INPUT_DATA_ANALYSIS_ALGORITHMS": [{{"algo_name": "stats", "threshold": "2"}}],
  "OUTPUT_CSV": "True",
}}
"""
CONFIG = """model:
  info:
    desc: digits
  globals:
    count: 3
  dataset:
    name: ILSVRC2012
    path: '.'
    inputlist_file: input_list.txt
    annotation_file: ground_truth.txt
    calibration:
      type: index
      file: calibration-index.txt
    transformations:
      - plugin:
          name: filter_dataset
          params:
            random: False
            max_inputs: -1
            max_calib: -1
  inference-engine:
    model_path: model.onnx
    simplify_model : True
    inference_schemas:
      - inference_schema:
          name: qnn
          target_arch: x86_64-linux-clang
          backend: cpu
          precision: fp32
          tag: qnn_cpu_x86
      - inference_schema:
          name: qnn
          target_arch: x86_64-linux-clang
          backend: %s
          precision: quant
          tag: htp_int8
          converter_params:
            param_quantizer: tf
            act_quantizer: tf
            algorithms: default | cle
            use_per_channel_quantization: True
            act_bw: 8
            bias_bw: 32
            weight_bw: 8
          contextbin_params:
            profiling_level: basic
          netrun_params:
            use_native_input_files: False
          backend_extensions:
            vtcm_mb: 4
            rpc_control_latency: 100
    inputs_info:
      - Input3:
          type: float32
          shape: ["*", 1, 28, 28]
    outputs_info:
      - Plus214_Output_0:
          type: float32
          shape: ["*", 10]
  evaluator:
    comparator:
      enabled: True
      fetch-top: 1
      type: avg
      tol: 0.001
    metrics:
      - plugin:
          name: topk
          params:
            kval: 1,5
            softmax_index: 0
            round: 7
            label_offset: 0
"""
CONFIG_FILES = {
    "config.yaml": CONFIG % "htp-sim",
    "ground_truth.txt": "0.raw 7\n1.raw 2\n2.raw 1\n",
    "calibration-index.txt": "0,1,2\n",
}
PHONE_SCHEMAS = {
    **CONFIG_FILES,
    "config.yaml": CONFIG.replace("x86_64-linux-clang", "aarch64-android") % "dspv73",
}
CHECK = "qnn-architecture-checker --input_json ./model_net.json --bin ./model.bin --output_path ./archCheckerOutput"
TABLE = ("archCheckerOutput/model_architecture_checker.csv",)
EVALUATOR = "tests/cli/test_accuracy_evaluator.py"
PLUGINS = "tests/unit/evaluate/plugins/test_guide.py"


def check(first: int, last: int, what: str, words: str = "") -> Example:
    return Example((first, last), what, f"{CHECK} {words}", ("converted",), leaves=TABLE)


EXAMPLES = (
    Example(
        (4974, 5016),
        "every kind of quantization is checked, as a configuration says",
        "qnn-quantization-checker --config_file check.json",
        ("digits",),
        {"check.json": CHECKER},
        leaves=("out/html/*.html", "out/csv/*.csv"),
    ),
    Example(
        (5022, 5038),
        "results and histograms in their folders",
        test="tests/cli/test_quantization_checker.py::test_histograms_are_drawn",
    ),
    shown(5295, 5300, "options of qnn-accuracy-evaluator"),
    Example(
        (5310, 5364),
        "all kinds of quantization are ranked",
        test=f"{EVALUATOR}::test_it_ranks_as_an_independent_evaluation_does",
    ),
    Example(
        (5402, 5787),
        "a configuration with every section",
        "qnn-accuracy-evaluator -config config.yaml",
        ("digits",),
        CONFIG_FILES,
        leaves=("qacc_temp/metrics-info.csv",),
    ),
    Example(
        (5791, 5813),
        "a schema of a phone that is not there fails, the others run",
        "qnn-accuracy-evaluator -config config.yaml -inference_schema_tag htp_int8",
        ("digits",),
        PHONE_SCHEMAS,
        code=6,
        says=("adb",),
    ),
    Example((5837, 5839), "plugins of one's own", test="tests/unit/evaluate/plugins/test_guide.py"),
    Example((5843, 5855), "a chain of plugins", test=PLUGINS),
    Example((5859, 5884), "a dataset that is filtered", test="tests/cli/test_evaluator_config.py"),
    Example((5888, 5909), "processing before and after", test=PLUGINS),
    Example((5919, 5929), "a metric", test="tests/cli/test_evaluator_config.py"),
    Example(
        (5964, 5968),
        "boxes are compared",
        test=f"{EVALUATOR}::test_boxes_are_compared_by_the_outputs_that_a_file_names",
    ),
    Example(
        (5974, 5988),
        "a folder of models",
        test=f"{EVALUATOR}::test_a_directory_of_models_is_evaluated_and_a_broken_one_does_not_stop_the_others",
    ),
    Example(
        (6003, 6008),
        "usage of qnn-architecture-checker",
        "qnn-architecture-checker -i model_net.json -b model.bin -o archCheckerOutput -m show",
        ("converted",),
        leaves=TABLE,
    ),
    Example(
        (6012, 6017),
        "through python",
        "python ${QNN_SDK_ROOT}/bin/qnn-architecture-checker -i model_net.json -b model.bin -o archCheckerOutput",
        ("converted", "sdk"),
        leaves=TABLE,
        shell=True,
        mark="exhaustive",
    ),
    shown(6021, 6042, "options of qnn-architecture-checker"),
    check(6079, 6083, "what keeps a model from being fast"),
    check(6119, 6124, "what could be modified", "--modify"),
    check(6128, 6133, "what could be modified", "--modify show"),
    check(6139, 6144, "everything is modified", "--modify all"),
    check(6148, 6153, "two rules are applied", "--modify apply=prelu,elwisediv"),
)
