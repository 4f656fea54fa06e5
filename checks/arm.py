"""Runs tests/arm/smoke.py as a 64-bit Arm machine would: Debian's Python for arm64 in qemu's user mode.

Nothing is installed on the machine: packages of Debian and wheels are fetched into .cache/arm and unpacked
there, once. Needs apt-get and dpkg (Debian or Ubuntu on another architecture), and a network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "arm"
SYSTEM, SITE, EMULATOR = CACHE / "system", CACHE / "site", CACHE / "qemu"
PACKAGES = (
    *("libc6", "libgcc-s1", "libstdc++6", "libatomic1", "zlib1g", "libexpat1", "libffi8", "libssl3"),
    *("libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1", "libcrypt1"),
    *("python3.11", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib"),
)
# ONNX Runtime crashes in 7.2, which is Debian 12's.
LOWEST_QEMU = (8, 0)
PLATFORMS = (*tuple(f"manylinux_2_{minor}_aarch64" for minor in (17, 27, 28, 34)), "manylinux2014_aarch64")


def main() -> int:
    """Prepare what is missing, then run the smoke test."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        print("test-arm needs apt-get and dpkg to fetch Debian's packages for arm64")
        return 1
    emulator = find_emulator()
    if not (SYSTEM / ".ready").exists():
        fetch_system()
    if not (SITE / ".ready").exists():
        fetch_wheels()
    context = make_context()
    words = [emulator, "-L", str(SYSTEM), "-E", f"PYTHONPATH={ROOT / 'src'}:{SITE}"]
    words += [str(SYSTEM / "usr/bin/python3.11"), "-X", "faulthandler", str(ROOT / "tests/arm/smoke.py")]
    return subprocess.run([*words, *([str(context)] if context else [])], check=False).returncode


def find_emulator() -> str:
    """An emulator that is new enough: the machine's, or one that is unpacked beside."""
    own = EMULATOR / "usr/bin/qemu-aarch64"
    for path in (shutil.which("qemu-aarch64"), shutil.which("qemu-aarch64-static"), str(own)):
        if path is not None and Path(path).exists() and read_version(path) >= LOWEST_QEMU:
            return path
    download(["qemu-user/bookworm-backports"], EMULATOR, dict(os.environ))
    return str(own)


def read_version(emulator: str) -> tuple[int, ...]:
    said = subprocess.run([emulator, "--version"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"version (\d+)\.(\d+)", said)
    return tuple(map(int, number.groups())) if number else (0,)


def fetch_system() -> None:
    """Debian's Python for arm64, with apt's state in a folder of its own."""
    state = CACHE / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "state/status").touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State": state / "state",
        "Dir::State::status": state / "state/status",
        "Dir::Cache": state / "cache",
        "APT::Sandbox::User": "",
    }
    config = state / "apt.conf"
    config.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    environment = os.environ | {"APT_CONFIG": str(config)}
    subprocess.run(["apt-get", "-qq", "update"], env=environment, check=True)
    download(list(PACKAGES), SYSTEM, environment)
    (SYSTEM / ".ready").touch()


def download(packages: list[str], target: Path, environment: dict[str, str]) -> None:
    """Fetches packages of Debian and unpacks them into a folder."""
    place = CACHE / "debs" / target.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    subprocess.run(["apt-get", "-qq", "download", *packages], cwd=place, env=environment, check=True)
    for file in place.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(file), str(target)], check=True)


def fetch_wheels() -> None:
    """The base requirements and the genuine libraries, as wheels for arm64 at the versions we test."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(SITE), "--upgrade"]
    words += ["--python-version", "3.11", "--implementation", "cp", "--only-binary=:all:"]
    for name in PLATFORMS:
        words += ["--platform", name]
    words += ["-c", str(ROOT / "constraints.txt"), *project["dependencies"], "onnxruntime-qnn"]
    subprocess.run(words, check=True)
    (SITE / ".ready").touch()


def make_context() -> Path | None:
    """A context binary by the libraries of this machine, for those of arm64 to read; None without them."""
    script = (
        "import sys, numpy as np, edgewright as ew\n"
        "from edgewright.abi.libraries import find_libraries\n"
        "if find_libraries() is None: sys.exit(3)\n"
        "model = ew.convert(sys.argv[1])\n"
        "samples = [{'Input3': np.ones((1, 1, 28, 28), np.float32)}]\n"
        "ew.compile(ew.quantize(model, samples), sys.argv[2], target='SM8650')\n"
    )
    target = CACHE / "context.bin"
    words = [sys.executable, "-c", script, str(ROOT / "examples/models/mnist_cntk.onnx"), str(target)]
    code = subprocess.run(words, check=False).returncode
    assert code in {0, 3}, f"no context binary could be made: exit code {code}"
    return target if code == 0 else None


if __name__ == "__main__":
    sys.exit(main())
