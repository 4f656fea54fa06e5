"""Signals are noted while threads are waited for, and raise again afterwards."""

import signal
import subprocess
import sys
import threading

import pytest

from edgewright.core.signals import hold_signals, note_signals


def test_a_signal_sets_the_event_and_is_noted_instead_of_raised():
    stop = threading.Event()
    with note_signals(stop) as found:
        signal.raise_signal(signal.SIGINT)
    assert (found, stop.is_set()) == ([signal.SIGINT], True)


def test_afterwards_a_signal_raises_again():
    with note_signals(threading.Event()):
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_signal_that_is_held_raises_after_the_block():
    done = []

    def interrupted():
        with hold_signals():
            signal.raise_signal(signal.SIGINT)
            done.append("went on")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["went on"]


def test_what_a_handler_of_the_program_does_is_still_done():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    try:
        with note_signals(threading.Event()) as found:
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (heard, found) == ([signal.SIGTERM], [])


def test_outside_the_main_thread_nothing_is_changed():
    found = []

    def work():
        with note_signals(threading.Event()):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_what_is_closed_at_exit_is_closed_whole_and_without_a_word():
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from edgewright.core.signals import close_at_exit\n"
        "def close():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print('closed')\n"
        "close_at_exit(close)\n"
    )
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "closed\n", "")
