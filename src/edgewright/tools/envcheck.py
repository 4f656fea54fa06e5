"""envcheck: says whether this machine has the compilers that model libraries and op packages need."""

from edgewright.config.sdk import EnvironmentParts
from edgewright.config.umbrella import Messages
from edgewright.core.errors import EnvironmentProblem
from edgewright.tools.tool import Tool


def run(parts: EnvironmentParts, _messages: Messages) -> int:
    """Print a line for each compiler; the exit code says whether all requested ones are there."""
    from edgewright.sdk.toolchain_check import describe_toolchains

    asked_parts = {"-n": parts.ndk, "-c": parts.clang, "-m": parts.msvc}
    asked = [flag for flag, is_asked in asked_parts.items() if is_asked] or ["-c", "-n"]
    lines, is_complete = describe_toolchains(asked)
    print("\n".join(lines))
    return 0 if is_complete else EnvironmentProblem.exit_code


TOOL = Tool(
    "envcheck",
    "Say whether this machine has the compilers that model libraries and op packages need.",
    (EnvironmentParts, Messages),
    run,
    examples=(("envcheck -c", "the compiler of this machine"), ("envcheck -n", "the Android NDK")),
)
main = TOOL.main
