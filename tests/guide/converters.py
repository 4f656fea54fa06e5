"""Lines 1741 to 3800: the four converters, qairt-converter and what they share."""

from tests.guide.example import Example, shown

WRITTEN = ("out.cpp", "out.bin", "out_net.json")
PAIR = "qnn-onnx-converter -i pair.onnx -o out.cpp "
PRESERVE = "qnn-onnx-converter -i preserve.onnx -o out.cpp "
TORCH = "qnn-pytorch-converter -i model.pt -d input 1,3,8,8 -o out.cpp "
PACKAGES = "tests/cli/test_op_packages.py"


def pair(first: int, last: int, what: str, words: str) -> Example:
    return Example((first, last), what, PAIR + words, ("pair",), leaves=WRITTEN)


def preserve(first: int, last: int, what: str, words: str) -> Example:
    return Example((first, last), what, PRESERVE + words, ("pair",), leaves=WRITTEN)


TYPES = '--input_type "data1" image --input_type "data2" opaque'
LAYOUTS = '--input_layout "data1" NCHW --input_layout "data2" NCHW'
BOTH = "--preserve_io layout input1 input2 output1 --preserve_io datatype input1 input2 output1"
BARE = "--preserve_io layout --preserve_io datatype"

EXAMPLES = (
    shown(1751, 1775, "usage of qnn-tensorflow-converter"),
    pair(1820, 1822, "types of two inputs", TYPES),
    shown(1846, 1848, "--input_dtype"),
    pair(1852, 1854, "the type of an input", "--input_dtype 'data1' 'float32'"),
    pair(
        1862, 1864, "types of two inputs", "--input_dtype 'data1' 'float32' --input_dtype 'data2' 'float32'"
    ),
    shown(1866, 1868, "--input_encoding"),
    pair(1876, 1878, "colours of an input", '--input_encoding "data1" rgba'),
    pair(1884, 1886, "colours of two inputs", '--input_encoding "data1" rgba --input_encoding "data2" other'),
    pair(1892, 1894, "colours that the model wants", '--input_encoding "data1" rgba rgb'),
    Example(
        (2180, 2187),
        "a frozen graph is converted",
        """qnn-tensorflow-converter -i frozen_graph.pb -d image 1,28,28,1 --out_node Identity \\
            -o out.cpp --allow_unconsumed_nodes -p "qti.aisw" """,
        ("tensorflow",),
        leaves=WRITTEN,
    ),
    shown(2193, 2215, "usage of qnn-tflite-converter"),
    Example(
        (2459, 2464),
        "a TFLite file is converted",
        "qnn-tflite-converter -i model.tflite -d serving_default_image:0 1,28,28,1 -o out.cpp -p qti.aisw",
        ("tflite",),
        leaves=WRITTEN,
    ),
    shown(2470, 2480, "usage of qnn-pytorch-converter"),
    shown(2488, 2504, "usage of qnn-pytorch-converter"),
    shown(2510, 2512, "--input_dim"),
    pair(2522, 2524, "shapes of two inputs", "--input_dim 'data1' 1,3,8,8 --input_dim 'data2' 1,3,8,8"),
    shown(2531, 2533, "--out_node"),
    pair(2690, 2692, "layouts of two inputs", LAYOUTS),
    preserve(2707, 2709, "layouts are kept by name", "--preserve_io layout input1 input2 output1"),
    preserve(2711, 2713, "types are kept by name", "--preserve_io datatype input1 input2 output1"),
    preserve(2719, 2721, "all layouts are kept", "--preserve_io layout"),
    preserve(2723, 2725, "all types are kept", "--preserve_io datatype"),
    preserve(2729, 2731, "layouts and types are kept", "--preserve_io"),
    Example((2895, 2897), "--op_package_lib", test=PACKAGES),
    Example((2901, 2903), "--converter_op_package_lib", test=PACKAGES),
    Example(
        (2911, 2913),
        "--package_name",
        "qnn-onnx-converter -i model.onnx -o out.cpp --package_name my.package",
        ("digits",),
        leaves=WRITTEN,
    ),
    Example((2919, 2921), "--op_package_config", test=PACKAGES),
    Example(
        (2927, 2929),
        "--arch_checker",
        "qnn-onnx-converter -i model.onnx -o out.cpp --input_list input_list.txt --arch_checker",
        ("digits",),
        leaves=(*WRITTEN, "out_architecture_checker.csv"),
    ),
    Example(
        (2937, 2942),
        "a TorchScript file is converted",
        TORCH + "-p qti.aisw",
        ("torchscript",),
        leaves=WRITTEN,
        mark="torch",
    ),
    shown(2948, 2951, "usage of qnn-onnx-converter"),
    shown(2959, 2980, "usage of qnn-onnx-converter"),
    shown(2986, 2989, "--input_network"),
    shown(2993, 2997, "--out_node"),
    pair(2999, 3001, "two outputs", "--out_name out_1 --out_name out_2"),
    shown(3003, 3011, "--input_type"),
    pair(3013, 3015, "types of two inputs", TYPES),
    pair(3155, 3157, "layouts of two inputs", LAYOUTS),
    preserve(3170, 3173, "layouts and types are kept by name", BOTH),
    preserve(3177, 3180, "layouts and types are kept by name", BOTH),
    preserve(3184, 3187, "layouts and types are kept", BARE),
    preserve(3191, 3193, "layouts and types are kept", "--preserve_io"),
    shown(3400, 3417, "usage of qairt-converter"),
    shown(3421, 3424, "--input_network"),
    Example(
        (3428, 3435),
        "--desired_input_shape",
        "qairt-converter -i pair.onnx -d 'data1' 1,3,8,8 -o out.dlc",
        ("pair",),
        leaves=("out.dlc",),
    ),
    Example(
        (3440, 3446),
        "--out_tensor_node, twice",
        "qairt-converter -i pair.onnx --out_tensor_node out_1 --out_tensor_name out_2 -o out.dlc",
        ("pair",),
        leaves=("out.dlc",),
    ),
    Example(
        (3448, 3450),
        "--source_model_input_datatype",
        "qairt-converter -i pair.onnx --source_model_input_datatype data1 float32 -o out.dlc",
        ("pair",),
        leaves=("out.dlc",),
    ),
    Example((3646, 3648), "--tflite_signature_name", test="tests/cli/test_qairt_converter.py"),
    shown(3660, 3662, "--quantization_overrides"),
    shown(3666, 3668, "--input_list"),
    shown(3672, 3674, "--param_quantizer"),
    Example(
        (3770, 3783),
        "per-channel and per-row quantization, with and without a word behind",
        """qnn-onnx-converter -i model.onnx --input_list input_list.txt -o out.cpp --use_per_channel_quantization
        qnn-onnx-converter -i model.onnx --input_list input_list.txt -o out.cpp --use_per_channel_quantization false
        qnn-onnx-converter -i model.onnx --input_list input_list.txt -o out.cpp --use_per_row_quantization
        qnn-onnx-converter -i model.onnx --input_list input_list.txt -o out.cpp --use_per_row_quantization false""",
        ("digits",),
        leaves=WRITTEN,
    ),
    Example(
        (3787, 3795),
        "a frozen graph is quantized",
        """qnn-tensorflow-converter -i frozen_graph.pb -d image 1,28,28,1 --out_node Identity \\
            -o out.cpp --allow_unconsumed_nodes -p qti.aisw --input_list scaled_list.txt""",
        ("tensorflow",),
        leaves=WRITTEN,
    ),
    Example(
        (10139, 10148),
        "a Prelu written as Relu, Neg, Mul and Add is one op",
        test="tests/unit/frontends/tensorflow/test_patterns.py",
    ),
    Example(
        (10201, 10266),
        "FakeQuant nodes of the source become encodings",
        test="tests/unit/frontends/tensorflow/test_fake_quant.py",
    ),
    Example(
        (10325, 10327),
        "--input_dim of TensorFlow",
        "qnn-tensorflow-converter -i frozen_graph.pb --input_dim image 1,28,28,1 -o out.cpp",
        ("tensorflow",),
        leaves=WRITTEN,
    ),
    Example(
        (10331, 10333),
        "--out_node of TensorFlow",
        "qnn-tensorflow-converter -i frozen_graph.pb -d image 1,28,28,1 --out_node Identity -o out.cpp",
        ("tensorflow",),
        leaves=WRITTEN,
    ),
    Example(
        (10392, 10406),
        "a SavedModel, by tag and signature",
        """qnn-tensorflow-converter --input_network saved -o out.cpp
        qnn-tensorflow-converter --input_network saved -o out.cpp --saved_model_tag serve
        qnn-tensorflow-converter --input_network saved -o out.cpp --saved_model_signature_key serving_default""",
        ("tensorflow",),
        leaves=WRITTEN,
    ),
    Example(
        (10412, 10414),
        "a graph with several outputs",
        """qnn-tensorflow-converter --input_network frozen_graph.pb --input_dim image 1,28,28,1 \\
            --out_node Identity --out_node Max --output_path out.cpp""",
        ("tensorflow",),
        leaves=WRITTEN,
    ),
    Example(
        (10475, 10485),
        "--input_dim of TFLite",
        'qnn-tflite-converter --input_network model.tflite --input_dim "serving_default_image:0" 1,28,28,1 --output_path out.cpp',
        ("tflite",),
        leaves=WRITTEN,
    ),
    Example(
        (10497, 10507),
        "--input_dim of PyTorch",
        'qnn-pytorch-converter --input_network model.pt --input_dim "input" 1,3,8,8 --output_path out.cpp',
        ("torchscript",),
        leaves=WRITTEN,
        mark="torch",
    ),
    Example(
        (10566, 10568),
        "an ONNX file is converted",
        "qnn-onnx-converter --input_network model.onnx --output_path model.cpp",
        ("digits",),
        leaves=("model.cpp", "model.bin", "model_net.json"),
    ),
    Example((10633, 10635), "a library tells shapes of a custom op", test=PACKAGES),
    Example(
        (10774, 10794),
        "custom inputs and outputs",
        "qnn-onnx-converter -i custom.onnx -o out.cpp --custom_io io.yaml",
        ("pair",),
        {
            "io.yaml": """- IOName: input_0
  Layout:
    Model: NCHW
    Custom: NHWC
  Datatype: uint8
  QuantParam:
    Type: QNN_DEFINITION_DEFINED
    Scale: 0.12
    Offset: 2
- IOName: output_0
  Layout:
    Model: NCHW
    Custom: NHWC
"""
        },
        leaves=WRITTEN,
    ),
    Example(
        (10805, 10808),
        "--custom_io",
        "qnn-onnx-converter -i model.onnx -o out.cpp --custom_io io.yaml",
        ("digits",),
        {"io.yaml": "- IOName: Input3\n  Layout:\n    Model: NCHW\n    Custom: NHWC\n"},
        leaves=WRITTEN,
    ),
    Example(
        (10865, 10869),
        "a template of custom inputs and outputs",
        "qnn-onnx-converter --input_network model.onnx --dump_custom_io_config_template made/config.yaml",
        ("digits",),
        leaves=("made/config.yaml",),
    ),
    preserve(10954, 10957, "layouts and types are kept", "--preserve_io"),
    preserve(10961, 10964, "all layouts are kept", "--preserve_io layout"),
    preserve(11017, 11020, "all types are kept", "--preserve_io datatype"),
    preserve(11024, 11027, "layouts are kept by name", "--preserve_io layout input1 input2 output1"),
    preserve(11031, 11034, "types are kept by name", "--preserve_io datatype input1 input2 output1"),
    preserve(11038, 11042, "layouts and types are kept by name", BOTH),
    Example(
        (11103, 11106),
        "layouts of a PyTorch model are kept",
        TORCH + "--preserve_io layout input",
        ("torchscript",),
        leaves=WRITTEN,
        mark="torch",
    ),
    Example(
        (11110, 11113),
        "types of a PyTorch model are kept",
        TORCH + "--preserve_io datatype input",
        ("torchscript",),
        leaves=WRITTEN,
        mark="torch",
    ),
    Example(
        (11254, 11256),
        "qairt-converter with an ONNX file",
        "qairt-converter --input_network model.onnx",
        ("digits",),
        leaves=("model.dlc",),
    ),
    Example(
        (11262, 11267),
        "qairt-converter with a frozen graph",
        """qairt-converter --input_network frozen_graph.pb --desired_input_shape image 1,28,28,1 \\
            --out_tensor_node Identity""",
        ("tensorflow",),
        leaves=("frozen_graph.dlc",),
    ),
    Example(
        (11341, 11442),
        "inputs and outputs by YAML",
        "qairt-converter --input_network pair.onnx --io_config io.yaml -o out.dlc",
        ("pair",),
        {
            "io.yaml": """Input Tensor Configuration:
  # Input 1
  - Name: data1
    Src Model Parameters:
      DataType: float32
      Layout: NCHW
    Desired Model Parameters:
      DataType: uint8
      Layout: NHWC
      Shape: 1,8,8,3
      Color Conversion: BGR
      QuantParams:
        Scale: 0.01
        Offset: 2
Output Tensor Configuration:
  # Output 1
  - Name: out_1
    Src Model Parameters:
      DataType: float32
      Layout: NCHW
    Desired Model Parameters:
      DataType: float32
      Layout: NHWC
      QuantParams:
        Scale:
        Offset:
"""
        },
        leaves=("out.dlc",),
    ),
    Example(
        (11584, 11588),
        "a template of that YAML",
        "qairt-converter --input_network model.onnx --dump_io_config_template made/io_config.yaml",
        ("digits",),
        leaves=("made/io_config.yaml",),
    ),
)
