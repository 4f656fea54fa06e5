"""Lines 1 to 1740: conventions, setup, the table of tools."""

from tests.guide.example import Example, absent

SYSTEM = "installs packages of the system"
WINDOWS = "PowerShell: no Windows here; the scripts ship and are read by tests/cli/test_sdk_root.py"


def imports(first: int, last: int, name: str) -> Example:
    return Example((first, last), f"a framework is there: {name}", f'python3 -c "import {name}"', shell=True)


def no_import(first: int, last: int, name: str) -> Example:
    return absent(first, last, f"a framework is there: {name}", "no converter here needs this package")


EXAMPLES = (
    Example(
        (81, 83),
        "the formula of a fixed-point number",
        test="tests/unit/quantize/test_encodings.py",
    ),
    absent(809, 812, "Python is installed", SYSTEM),
    absent(818, 822, "a virtual environment", SYSTEM),
    Example(
        (909, 912),
        "missing Python packages are found",
        test="tests/cli/test_sdk_root.py::test_python_packages_are_listed_with_what_to_do",
    ),
    Example(
        (944, 947),
        "missing packages of Linux are found; nothing is installed unasked",
        "bash ${QNN_SDK_ROOT}/bin/check-linux-dependency.sh --check || true",
        needs=("sdk",),
        says=("[INFO]",),
        shell=True,
    ),
    absent(981, 983, "make is installed", SYSTEM),
    Example(
        (991, 995),
        "the Android NDK is looked for",
        """export ANDROID_NDK_ROOT=$PWD/ndk
        export PATH=${ANDROID_NDK_ROOT}:$PATH
        ${QNN_SDK_ROOT}/bin/envcheck -n || true""",
        needs=("sdk",),
        says=("ANDROID_NDK_ROOT",),
        shell=True,
    ),
    Example(
        (1013, 1015),
        "a C++ compiler is looked for",
        "${QNN_SDK_ROOT}/bin/envcheck -c || true",
        needs=("sdk",),
        says=("C++ compiler",),
        shell=True,
    ),
    absent(1109, 1114, "a virtual environment on Windows", WINDOWS),
    absent(1136, 1138, "missing packages of Windows", WINDOWS),
    absent(1152, 1154, "what Windows has is looked at", WINDOWS),
    Example(
        (1164, 1166),
        "the environment is set",
        """source ${QNN_SDK_ROOT}/bin/envsetup.sh
        echo "root $QNN_SDK_ROOT"
        command -v qnn-net-run""",
        needs=("sdk",),
        says=("root ", "bin/x86_64-linux-clang/qnn-net-run"),
        shell=True,
    ),
    no_import(1193, 1195, "tensorflow"),
    imports(1203, 1205, "onnx"),
    imports(1219, 1221, "onnxruntime"),
    no_import(1229, 1231, "onnxsim"),
    no_import(1239, 1241, "tflite"),
    Example((1249, 1251), "a framework is there: torch", test="tests/cli/test_pytorch_converter.py"),
    no_import(1265, 1267, "torchvision"),
    absent(1277, 1279, "PowerShell may run scripts", WINDOWS),
    absent(1283, 1285, "the environment is set on Windows", WINDOWS),
    Example(
        (1728, 1730),
        "a converter is called through python",
        "python ${QNN_SDK_ROOT}/bin/qnn-onnx-converter --input_network model.onnx",
        needs=("sdk", "digits"),
        leaves=("model.cpp", "model.bin", "model_net.json"),
        shell=True,
    ),
)
