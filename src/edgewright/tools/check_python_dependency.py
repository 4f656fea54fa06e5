"""check-python-dependency: lists which Python packages are installed, and how to get the others."""

from edgewright.config.umbrella import Messages
from edgewright.core.errors import EnvironmentProblem
from edgewright.tools.tool import Tool


def run(_messages: Messages) -> int:
    """Print a line for each package; only required ones that do not work are a failure."""
    from edgewright.tools.environment import check_packages

    findings = check_packages()
    width = max(len(item.name) for item in findings)
    for item in findings:
        word = "INFO" if item.state == "works" else "ERROR" if item.is_problem else "WARNING"
        advice = f"  {item.do}" if item.do else ""
        print(f"[{word}] {item.name:<{width}}  {item.version or '-':<10}  {item.state}{advice}")
    return EnvironmentProblem.exit_code if any(item.is_problem for item in findings) else 0


TOOL = Tool(
    "check-python-dependency",
    "List which of the Python packages that Edgewright can use are installed, and how to get the others.",
    (Messages,),
    run,
    examples=(("check-python-dependency", "look at this environment"),),
)
main = TOOL.main
