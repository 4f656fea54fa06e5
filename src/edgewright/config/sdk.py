"""The options of the tools around an SDK's tree: sdk-root, envcheck, qnn-platform-validator."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup

_HOST = "libraries that are there are validated"


@dataclass(frozen=True)
class SdkFolder(OptionGroup):
    """Where the tree is made."""

    title = "Folder"

    folder: str = opt("FOLDER", help="the folder to make, which becomes QNN_SDK_ROOT")


@dataclass(frozen=True)
class BackendLibraryOptions(OptionGroup):
    """A library that programs load in place of one of QNN's."""

    title = "Library"

    output_dir: str = opt(also="-o", metavar="FOLDER", help="the folder to write it into")
    kind: str = opt(
        choices=("cpu", "htp-sim"),
        default="cpu",
        help="which backend computes: the CPU, or the simulation of HTP",
    )
    qnn_names: bool = opt(
        "--qnn-names",
        help="name it as QNN names its own (libQnnCpu.so or libQnnHtp.so) and add libQnnSystem.so, for "
        "programs that look for these names",
    )


@dataclass(frozen=True)
class EnvironmentParts(OptionGroup):
    """What is looked for; everything where none is named."""

    title = "What to check"

    ndk: bool = opt("-n", help="the Android NDK")
    clang: bool = opt("-c", help="the C++ compiler of this machine")
    msvc: bool = opt("-m", help="the compiler of Visual Studio, on Windows")


@dataclass(frozen=True)
class PlatformQuestion(OptionGroup):
    """What is asked of a platform."""

    title = "Backend"

    backend: str = opt(
        choices=("cpu", "gpu", "dsp", "htp", "all"),
        help="the backend to validate; dsp is the HTP of newer chips",
    )
    directory: str | None = opt(
        metavar="FOLDER", help="the root of an SDK; the libraries that are installed otherwise"
    )
    dsp_type: str | None = opt(
        metavar="VERSION", help="the Hexagon architecture that is meant, such as v68 or v75"
    )
    test_backend: bool = opt("--testBackend", help="run a small program on the backend")
    core_version: bool = opt("--coreVersion", help="tell the version of QNN's interface")
    lib_version: bool = opt("--libVersion", help="tell the version of the library")


@dataclass(frozen=True)
class PlatformDevice(OptionGroup):
    """A device to validate; its own validator runs there."""

    title = "Device"

    build_variant: str | None = opt(
        "--buildVariant",
        choices=("aarch64-android", "aarch64-windows-msvc", "x86_64-linux-clang"),
        without_effect=_HOST,
        help="the target of the libraries",
    )
    device_id: str | None = opt(
        "--deviceId",
        metavar="ID",
        help="the device to validate: its serial number in adb, or an address such as ssh://USER@HOST",
    )
    target_path: str | None = opt(
        "--targetPath", metavar="FOLDER", help="where files go on the device, as folders of their own"
    )
    remote_host: str | None = opt(
        "--remoteHost", metavar="HOST", help="the machine whose adb has the device; its first one by default"
    )
