"""Lines 11765 to 12890: worked numbers, overrides, input lists, mixed precision."""

from tests.guide.example import Example

WRITTEN = ("out.cpp", "out.bin", "out_net.json")
MIXED = (
    "qnn-onnx-converter -i three.onnx -o out.cpp --input_list image_list.txt --quantization_overrides o.json"
)
OVERRIDES = """{
  "activation_encodings": {
    "conv1_1": [
      {"bitwidth": 8, "max": 12.82344407824954, "min": 0.0, "offset": 0, "scale": 0.050288015993135454}
    ],
    "data_0": [
      {"bitwidth": 8, "max": 0.9960872825108046, "min": -1.0039304197656937, "offset": 127,
       "scale": 0.007843206675594112}
    ]
  },
  "param_encodings": {
    "conv2_w_0": [
      {"bitwidth": 8, "max": 1.700559472933134, "min": -2.1006477158567995, "offset": 140,
       "scale": 0.01490669485799974}
    ]
  }
}
"""
WHOLE = """{
  "activation_encodings": {},
  "param_encodings": {
    "conv1_w_0": [
      {"bitwidth": 8, "is_symmetric": "False", "max": 3.0387749017453665, "min": -2.059169834735364,
       "offset": -103, "scale": 0.019991940143061618}
    ]
  }
}
"""
CHANNELS = """{
  "activation_encodings": {},
  "param_encodings": {
    "conv1_w_0": [
      {"bitwidth": 8, "is_symmetric": "True", "max": 0.7011175155639648, "min": -0.7066381259227362,
       "offset": -128.0, "scale": 0.005520610358771377},
      {"bitwidth": 8, "is_symmetric": "True", "max": 0.5228064656257629, "min": -0.5269230519692729,
       "offset": -128.0, "scale": 0.004116586343509945},
      {"bitwidth": 8, "is_symmetric": "True", "max": 0.7368279099464417, "min": -0.7426297045129491,
       "offset": -128.0, "scale": 0.005801794566507415}
    ]
  }
}
"""


def entry(name: str, bits: int, kind: str) -> str:
    return f'"{name}": [{{"bitwidth": {bits}, "dtype": "{kind}"}}]'


INTEGERS = ", ".join(entry(name, 8, "int") for name in ("data_0", "conv1_1", "conv3_1"))
CONSTANTS = ", ".join(entry(f"conv{n}_{kind}_0", 8, "int") for n in (1, 3) for kind in "wb")
FLOATS = ", ".join(entry(f"conv2_{kind}_0", 32, "float") for kind in "wb")
MIXED_FILE = (
    f'{{"activation_encodings": {{{INTEGERS}, {entry("conv2_1", 32, "float")}}},'
    f' "param_encodings": {{{CONSTANTS}, {FLOATS}}}}}'
)
PARTIAL_FILE = (
    f'{{"activation_encodings": {{{entry("conv2_1", 32, "float")}}},'
    f' "param_encodings": {{{FLOATS}}}, "version": "0.5.0"}}'
)


def mixed(first: int, last: int, what: str, content: str) -> Example:
    return Example((first, last), what, MIXED, ("three",), {"o.json": content}, leaves=WRITTEN)


EXAMPLES = (
    Example(
        (12013, 12058),
        "ranges that are positive, negative and both",
        test="tests/unit/quantize/test_encodings.py",
    ),
    Example((12115, 12141), "numbers quantized and back", test="tests/unit/quantize/test_encodings.py"),
    Example(
        (12207, 12235),
        "enhanced ranges for weights or activations alone",
        """qnn-onnx-converter -i model.onnx -o out.cpp --input_list input_list.txt --param_quantizer enhanced weights
        qnn-onnx-converter -i model.onnx -o out.cpp --input_list input_list.txt --param_quantizer enhanced activations
        qnn-onnx-converter -i model.onnx -o out.cpp --input_list input_list.txt --act_quantizer enhanced""",
        ("digits",),
        leaves=WRITTEN,
    ),
    Example(
        (12259, 12265),
        "CLE, by its option",
        "qnn-onnx-converter -i three.onnx -o out.cpp --input_list image_list.txt --algorithms cle",
        ("three",),
        leaves=WRITTEN,
    ),
    mixed(12373, 12407, "overrides of activations and parameters", OVERRIDES),
    mixed(
        12435,
        12444,
        "an entry without a list around it",
        OVERRIDES.replace("[\n      {", "{").replace("}\n    ]", "}"),
    ),
    mixed(12454, 12467, "one asymmetric encoding of a weight", WHOLE),
    mixed(12500, 12529, "one encoding for each channel", CHANNELS),
    Example(
        (12585, 12607),
        "a list of files, one a line",
        "qnn-onnx-converter -i three.onnx -o out.cpp --input_list list.txt",
        ("three",),
        {"list.txt": "image0.raw\nimage1.raw\nimage2.raw\n"},
        leaves=WRITTEN,
    ),
    Example(
        (12593, 12615),
        "a list of files for two inputs",
        "qnn-onnx-converter -i eyes.onnx -o out.cpp --input_list list.txt",
        ("pair",),
        {
            "list.txt": "".join(
                f"input_left_eye:=left{number}.rawtensor input_right_eye:=right{number}.rawtensor\n"
                for number in range(3)
            )
        },
        leaves=WRITTEN,
    ),
    mixed(12745, 12799, "three convolutions, the second in float", MIXED_FILE),
    mixed(12803, 12829, "the second in float, nothing said of the others", PARTIAL_FILE),
)
