"""Signals reach the command that runs, which ends in its own time; nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from official_bert.ablation.child import Stopped, run_child
from tests.public_data import ROOT

# Waits for a child command that is given; says when that is there, and how it ended.
_PARENT = """
import sys
from official_bert.ablation.child import Stopped, run_child
try:
    print(run_child([sys.executable, "-c", sys.argv[1], sys.argv[2]]))
except Stopped as stop:
    print("stopped by", stop)
    sys.exit(stop.status)
"""
# Children: one that saves, as a training does; one that goes on to its end; one that just dies.
_START = "import os, pathlib, signal, sys, time; there = pathlib.Path(sys.argv[1])\n"
_SAVES = """
def save(number, frame):
    signal.signal(number, signal.SIG_IGN)
    time.sleep(0.6)
    (there / "saved").touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, save); signal.signal(signal.SIGINT, save)
"""
_GOES_ON = """
def wait(number, frame):
    sys.exit(0)
signal.signal(signal.SIGTERM, wait); signal.signal(signal.SIGINT, wait)
"""
_DIES = "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
_WAIT = """
(there / "pid").write_text(str(os.getpid()))
time.sleep(100)
"""
CASES = {
    "SIGTERM, which it saves at": (_SAVES, signal.SIGTERM, 75, True),
    "Ctrl-C, which it saves at": (_SAVES, signal.SIGINT, 75, True),
    "SIGTERM, at which it ends well": (_GOES_ON, signal.SIGTERM, 143, False),
    "Ctrl-C, at which it ends well": (_GOES_ON, signal.SIGINT, 130, False),
    "SIGTERM, which kills it": (_DIES, signal.SIGTERM, 143, False),
    "Ctrl-C, which kills it": (_DIES, signal.SIGINT, 130, False),
    "a terminal that closes": (_DIES, signal.SIGHUP, 129, False),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("to_group", [True, False])
def test_a_signal_is_passed_on_and_the_end_waited_for(tmp_path, name, to_group):
    code, number, status, saved = CASES[name]
    process = subprocess.Popen(
        [sys.executable, "-c", _PARENT, _START + code + _WAIT, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.01)
    # Ctrl-C at a terminal goes to the whole group in front, `kill` to one process.
    (os.killpg if to_group else os.kill)(process.pid, number)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (status, f"stopped by {number.name}\n".encode())
    assert (tmp_path / "saved").exists() == saved
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(("code", "status"), [("", 0), ("sys.exit(3)", 3)])
def test_without_a_signal_the_status_is_that_of_the_command(code, status):
    before = signal.getsignal(signal.SIGTERM)
    assert run_child([sys.executable, "-c", f"import sys\n{code}"]) == status
    kill = "import os; os.kill(os.getpid(), 9)"
    assert run_child([sys.executable, "-c", kill]) == 128 + 9
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_command_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        run_child(["no-such-command"])
    assert Stopped(signal.SIGTERM, 0).status == 143
