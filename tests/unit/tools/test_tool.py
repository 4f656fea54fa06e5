import json
import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from edgewright.config.build import BuildData
from edgewright.config.quantizer import Quantizer
from edgewright.config.rules import Beats
from edgewright.config.umbrella import Messages, Report
from edgewright.core.errors import AccuracyGate, BackendCrash, BadInput, Problems, UsageError, Where
from edgewright.tools.tool import Tool

FAILURE = BadInput("the file is empty", Where(file="m.onnx"), do="export it again")


def tool_that(act, groups=(Report, Messages), **more):
    return Tool("a-tool", "Does something.", groups, lambda *_: act(), **more)


def fail(error):
    def act():
        raise error

    return act


def test_the_groups_reach_the_function_in_their_order():
    seen = []
    Tool("a-tool", "s", (Report, Messages), lambda *groups: seen.extend(groups)).main(["--json"])
    assert seen == [Report(json=True), Messages()]


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (5, 5)])
def test_the_exit_code_is_what_the_function_returns(returned, code):
    assert tool_that(lambda: returned).main([]) == code


def test_an_expected_failure_is_text_and_an_exit_code(capsys):
    assert tool_that(fail(FAILURE)).main([]) == 3
    assert capsys.readouterr() == (
        "",
        "error[bad-input]: the file is empty\n  where: m.onnx\n  do:    export it again\n",
    )


def test_a_path_in_a_message_names_its_option(capsys, tmp_path):
    missing = BadInput("file 'nothere.npz' does not exist")
    words = ["--data", "nothere.npz", "--labels", "l.csv"]
    assert tool_that(fail(Problems([missing, FAILURE])), (BuildData,)).main(words) == 3
    err = capsys.readouterr().err
    assert "file 'nothere.npz' does not exist\n    where: given with --data\n" in err
    assert "the file is empty\n    where: m.onnx\n" in err
    assert tool_that(fail(missing), (BuildData,)).main(["--labels", "l.csv", "--random-data"]) == 3
    assert capsys.readouterr().err == "error[bad-input]: file 'nothere.npz' does not exist\n"


def test_several_problems_leave_with_the_code_of_the_first(capsys):
    assert tool_that(fail(Problems([BackendCrash("a"), BackendCrash("b")]))).main([]) == 7
    assert "2 problems" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--debug"], ["--log_level", "verbose"]])
def test_debugging_shows_the_traceback_too(words, capsys):
    assert tool_that(fail(FAILURE)).main(words) == 3
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert err.endswith("error[bad-input]: the file is empty\n  where: m.onnx\n  do:    export it again\n")


def test_a_usage_error_leaves_with_2(capsys):
    assert tool_that(lambda: 0).main(["--jsno"]) == 2
    assert "did you mean '--json'?" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        tool_that(lambda: 1 // 0).main([])


def test_no_memory_is_an_expected_failure(capsys):
    assert tool_that(fail(MemoryError())).main([]) == 6
    assert "not enough memory" in capsys.readouterr().err


def test_being_interrupted_is_one_line_and_130(capsys):
    assert tool_that(fail(KeyboardInterrupt())).main([]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_an_import_that_turns_an_interruption_into_its_own_error_is_stopped_too(capsys):
    def act():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    assert tool_that(act).main([]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_handlers_and_logging_are_as_before_afterwards():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    before = (signal.SIG_DFL, list(logging.getLogger("edgewright").handlers))
    assert tool_that(lambda: signal.getsignal(signal.SIGTERM) is signal.SIG_DFL).main([]) == 0
    assert (signal.getsignal(signal.SIGTERM), list(logging.getLogger("edgewright").handlers)) == before


def test_a_tool_also_works_outside_the_main_thread():
    codes = []
    thread = threading.Thread(target=lambda: codes.append(tool_that(lambda: 5).main([])))
    thread.start()
    thread.join()
    assert codes == [5]


@pytest.mark.parametrize(
    ("words", "lines"), [([], 1), (["--log_level", "info"], 2), (["--log_level", "error"], 0)]
)
def test_log_lines_follow_the_level(words, lines, capsys):
    def act():
        logging.getLogger("edgewright.x").warning("one")
        logging.getLogger("edgewright.x").info("two")

    tool_that(act).main(words)
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_warnings_about_options_are_shown(capsys):
    tool = tool_that(lambda: 0, groups=(Quantizer, Report), rules=(Beats("--json", "--act_bw"),))
    assert tool.main(["--act_bw", "16", "--json"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "warning: --json comes before --act_bw for the tensors that it names",
        (
            "warning: without --input_list or --float_fallback or --quantization_overrides "
            "these options have no effect: --act_bw"
        ),
    ]


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["--json", "--help", "--unknown"]])
def test_help_is_answered_before_anything_else(words, capsys):
    tool = tool_that(fail(FAILURE), examples=(("a-tool --json", "as JSON"),))
    assert tool.main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: a-tool [options]\n\nDoes something.\n")
    assert out.endswith("Examples:\n  # as JSON\n  a-tool --json\n")


def test_version_names_the_tool_and_the_package(capsys):
    assert tool_that(fail(FAILURE)).main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("a-tool (edgewright) ")


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_reader_that_went_away_is_no_error(lines):
    script = (
        "import sys\n"
        "from edgewright.tools.tool import Tool\n"
        "def act():\n"
        f"    for _ in range({lines}): print('line')\n"
        "sys.exit(Tool('t', 's', (), act).main([]))\n"
    )
    reading, writing = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", script], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    os.close(reading)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, b"")


def test_help_loads_no_heavy_package():
    script = (
        "import sys\n"
        "from edgewright.config.onnx import ONNX_CONVERTER\n"
        "from edgewright.tools.tool import Tool\n"
        "Tool('t', 's', ONNX_CONVERTER, print).main(['--help'])\n"
        "heavy = {'numpy', 'onnx', 'onnxruntime', 'rich', 'yaml', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_are_json_for_whoever_asked_for_it(capsys):
    def act(_report):
        raise Problems([BadInput("no file", do="give one"), UsageError("no option")])

    assert Tool("t", "s", (Report,), act).main(["--json"]) == 3
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "exit_code": 3,
        "errors": [
            {"code": "bad-input", "what": "no file", "where": "", "do": "give one"},
            {"code": "usage", "what": "no option", "where": "", "do": ""},
        ],
    }
    assert "2 problems" in told.err
    assert Tool("t", "s", (Report,), act).main([]) == 3
    assert not capsys.readouterr().out


def test_a_missed_limit_leaves_the_record_alone_on_stdout(capsys):
    def act(_report):
        sys.stdout.write("{}\n")
        raise AccuracyGate("too far")

    assert Tool("t", "s", (Report,), act).main(["--json"]) == 5
    assert capsys.readouterr().out == "{}\n"
