"""qnn-platform-validator: shows which backends this machine or a device has, and whether they work."""

from typing import TYPE_CHECKING

from edgewright.config.sdk import PlatformDevice, PlatformQuestion
from edgewright.config.umbrella import Messages, Report
from edgewright.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "qnn-platform-validator"
CSV_FILE = "output/Result.csv"


def run(question: PlatformQuestion, device: PlatformDevice, report: Report, _messages: Messages) -> int:
    """Check, write the CSV as the SDK's tool does, and print."""
    import json
    from dataclasses import asdict

    from edgewright.core.errors import EnvironmentProblem
    from edgewright.core.files import write_whole
    from edgewright.reports.page import show
    from edgewright.reports.platform import make_page
    from edgewright.run.remote.address import name_adb_device
    from edgewright.sdk.device_platform import check_device_platform
    from edgewright.sdk.platform_check import Asked, check_platform, write_csv

    if device.device_id or device.remote_host:
        address = name_adb_device(device.device_id, device.remote_host, device.target_path)
        checks = check_device_platform(address, list(_list_words(question)))
    else:
        asked = Asked(question.test_backend, question.core_version, question.lib_version)
        checks = check_platform(question.backend, question.directory, question.dsp_type, asked)
    write_whole(CSV_FILE, [write_csv(checks)])
    if report.json:
        print(json.dumps([asdict(item) for item in checks], indent=2))
    else:
        show([*make_page(checks), f"wrote {CSV_FILE}"])
    return EnvironmentProblem.exit_code if any(item.unit_test == "Failed" for item in checks) else 0


def _list_words(question: PlatformQuestion) -> "Iterator[str]":
    yield from ("--backend", question.backend)
    if question.dsp_type is not None:
        yield from ("--dsp_type", question.dsp_type)
    yield from ["--testBackend"] * question.test_backend
    yield from ["--coreVersion"] * question.core_version
    yield from ["--libVersion"] * question.lib_version


TOOL = Tool(
    NAME,
    "Show which backends this machine or a device has, and whether they work.",
    (PlatformQuestion, PlatformDevice, Report, Messages),
    run,
    examples=(
        (f"{NAME} --backend all --testBackend", "run a small program on every backend"),
        (f"{NAME} --backend dsp --libVersion --coreVersion", "versions of the HTP library"),
    ),
)
main = TOOL.main
