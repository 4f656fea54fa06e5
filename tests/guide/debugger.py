"""Lines 6160 to 8152: qnn-accuracy-debugger."""

from tests.guide.example import Example, absent, shown

DEBUG = "qnn-accuracy-debugger "
IMAGE = "--input_tensor Input3 1,1,28,28 0.raw --output_tensor Plus214_Output_0 "
MODEL = f"--framework onnx --model_path model.onnx {IMAGE}"
WHERE = "--architecture x86_64-linux-clang --input_list input_list.txt "
LAYERS = f"{DEBUG}{MODEL}{WHERE}--runtime htp --default_verifier CosineSimilarity --offline_prepare --engine QNN --verbose "
GOLDEN = "--golden_output_reference_directory work/framework_diagnosis/golden "
MAPPED = "--tensor_mapping work/inference_engine/inference/tensor_mapping.json "
COMPARE = "--compare_encodings --input model_net.json --aimet_encodings_json aimet_encodings.json "
PHONE = "runs on a phone"
FRAMEWORK = ("working_directory/framework_diagnosis/latest/**/*.raw",)
ENGINE = ("working_directory/inference_engine/latest/output/Result_0",)
CONVERTED = (
    f"{DEBUG}--inference_engine --stage converted -qmcpp model.cpp -qmbin model.bin --runtime dspv73 {WHERE}"
)
VERIFIERS = """{
  "MeanIOU": {
    "parameters": {"background_classification": 1.0},
    "tensors": [["detection_boxes", "detection_classes"]]
  },
  "TopK": {"parameters": {"k": 5, "ordered": false}, "tensors": [["scores"], ["detection_classes"]]}
}
"""
COMPARED = (
    f"{DEBUG}--verification {GOLDEN}--inference_results work/inference_engine/inference/output/Result_0 "
)
SCORES = ("working_directory/verification/latest/summary.csv",)


def compare(first: int, last: int, what: str, words: str = "") -> Example:
    leaves = ("working_directory/compare_encodings/latest/encodings_diff.xlsx",)
    return Example((first, last), what, DEBUG + COMPARE + words, ("encodings",), leaves=leaves)


EXAMPLES = (
    shown(6214, 6225, "usage of --framework_diagnosis"),
    Example(
        (6284, 6291),
        "layers of a TensorFlow graph, in its framework",
        f"""{DEBUG}--framework_diagnosis --framework tensorflow --model_path frozen_graph.pb \\
            --input_tensor "image:0" 1,28,28,1 scaled0.raw --output_tensor Identity:0""",
        ("tensorflow",),
        leaves=FRAMEWORK,
    ),
    Example(
        (6327, 6334),
        "layers of an ONNX model, in its framework",
        f"{DEBUG}--framework_diagnosis {MODEL}",
        ("digits",),
        leaves=FRAMEWORK,
    ),
    absent(
        6338,
        6346,
        "custom ops of ONNX Runtime",
        "a library of ops for ONNX Runtime, compiled for it: none is at hand",
    ),
    shown(6377, 6382, "usage of --inference_engine"),
    shown(6418, 6459, "usage of --inference_engine"),
    shown(6654, 6691, "options of --inference_engine"),
    Example(
        (6707, 6718),
        "layers of a TensorFlow graph on the HTP",
        f"""{DEBUG}--inference_engine --framework tensorflow --runtime dspv73 --model_path frozen_graph.pb \\
            --input_tensor "image:0" 1,28,28,1 scaled0.raw --output_tensor Identity \\
            --architecture x86_64-linux-clang --input_list scaled_list.txt --verbose""",
        ("tensorflow",),
        leaves=ENGINE,
    ),
    Example(
        (6722, 6734),
        "the same on a phone, of which there is none",
        f"""{DEBUG}--inference_engine --deviceId 357415c4 --framework tensorflow --runtime dspv73 \\
            --architecture aarch64-android --model_path frozen_graph.pb \\
            --input_tensor "image:0" 1,28,28,1 scaled0.raw --output_tensor Identity \\
            --input_list scaled_list.txt --verbose""",
        ("tensorflow",),
        code=6,
        says=("adb",),
    ),
    Example(
        (6753, 6769),
        "from a converted model",
        f"{CONVERTED}--qnn_model_net_json model_net.json --verbose --framework onnx {GOLDEN}",
        ("converted", "golden"),
        leaves=ENGINE,
    ),
    absent(6773, 6787, "from a converted model, on a phone", PHONE),
    Example(
        (6825, 6836),
        "from a compiled model",
        f"""{DEBUG}--inference_engine --stage compiled --qnn_model_binary libQnnModel.so --runtime dspv73 {WHERE} \\
            --verbose --qnn_model_net_json model_net.json {GOLDEN}""",
        ("library", "golden"),
        leaves=ENGINE,
        mark="exhaustive",
    ),
    absent(6840, 6852, "from a compiled model, on a phone", PHONE),
    absent(6856, 6884, "with a custom op, on a phone", PHONE),
    shown(7010, 7103, "usage and options of --verification"),
    Example(
        (7113, 7132),
        "layers are compared by two verifiers",
        f"""{COMPARED} --default_verifier CosineSimilarity param1 1 param2 2 --default_verifier SQNR param1 5 param2 1 \\
            {MAPPED} --graph_struct work/inference_engine/inference/qnn_model_graph_struct.json \\
            --qnn_model_json_path work/inference_engine/inference/qnn_model_net.json""",
        ("inference",),
        leaves=SCORES,
    ),
    Example(
        (7184, 7202),
        "verifiers for some tensors",
        f"""{DEBUG}--verification --golden_output_reference_directory golden_tensors_dir \\
            --inference_results target_tensors_dir --default_verifier mse --verifier_config verifiers.json""",
        ("detections",),
        {"verifiers.json": VERIFIERS},
        leaves=SCORES,
    ),
    Example(
        (7220, 7225),
        "names of tensors are mapped",
        f"{COMPARED} --default_verifier mse --tensor_mapping mapping.json",
        ("inference",),
        {"mapping.json": '{\n    "Plus214_Output_0": "Plus214_Output_0"\n}\n'},
        leaves=SCORES,
    ),
    shown(7266, 7269, "usage of --compare_encodings"),
    compare(7320, 7335, "parameters and activations"),
    compare(7337, 7347, "parameters", "--params_only"),
    compare(7349, 7359, "activations", "--activations_only"),
    compare(7361, 7371, "one node", "--specific_node Pooling66_Output_0"),
    shown(7437, 7446, "usage of --tensor_inspection"),
    Example(
        (7485, 7500),
        "tensors side by side",
        f"""{DEBUG}--tensor_inspection --golden_data golden_tensors_dir --target_data target_tensors_dir --verifier sqnr
        {DEBUG}--tensor_inspection --golden_data golden_tensors_dir --target_data target_tensors_dir --verifier mse \\
            --verifier sqnr --verifier rtolatol,rtolmargin,0.01,atolmargin,0.01 --target_encodings qnn_encoding.json""",
        ("tensors",),
        leaves=("working_directory/tensor_inspection/latest/summary.csv",),
        mark="exhaustive",
    ),
    shown(7602, 7604, "usage of the debugger"),
    shown(7620, 7629, "usage of the debugger"),
    Example(
        (7707, 7734),
        "a TensorFlow graph, all layers at once",
        f"""{DEBUG}--framework tensorflow --runtime htp-sim --model_path frozen_graph.pb \\
            --input_tensor "image:0" 1,28,28,1 scaled0.raw --output_tensor Identity:0 \\
            --architecture x86_64-linux-clang --debugging_algorithm oneshot-layerwise --input_list scaled_list.txt \\
            --default_verifier CosineSimilarity --verbose""",
        ("tensorflow",),
        leaves=("working_directory/verification/latest/*",),
    ),
    Example(
        (7738, 7753),
        "an ONNX model, all layers at once, with pictures",
        LAYERS + "--debugging_algorithm oneshot-layerwise --enable_tensor_inspection",
        ("digits",),
        leaves=("working_directory/verification/latest/*",),
        mark="exhaustive",
    ),
    Example(
        (7941, 7955),
        "each layer and what comes of it",
        LAYERS.replace("--runtime htp", "--runtime dspv73") + "--debugging_algorithm cumulative-layerwise",
        ("digits",),
        leaves=("working_directory/cumulative_layerwise_snooping/latest/cumulative_layerwise.csv",),
    ),
    Example(
        (7959, 8010),
        "the same, by the HTP's name",
        test="tests/cli/test_accuracy_debugger.py::test_cumulative_layerwise_adds_what_each_layer_does_to_the_outputs",
    ),
    Example(
        (8073, 8089),
        "each layer alone, with encodings and outputs of another tool",
        LAYERS.replace("--runtime htp", "--runtime dspv73")
        + f"--debugging_algorithm layerwise {GOLDEN} --quantization_overrides aimet_encodings.json",
        ("golden", "encodings"),
        leaves=("working_directory/layerwise_snooping/latest/layerwise.csv",),
    ),
)
