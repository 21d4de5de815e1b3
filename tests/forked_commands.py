"""Runs many commands in forks of one process that has imported TensorFlow, which is most of what a
command takes.

    python -m tests.forked_commands < cases.json > outcomes.json

A case is {"command": [module, flag, …], "limit": most bytes of a file or null, "stdout": a file to
print into or null}; its outcome is {"status": …, "stderr": …}.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import runpy
import subprocess
import sys
import traceback
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


def outcomes(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What comes of each case."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.forked_commands"],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return json.loads(process.stdout)


def _outcome(case: dict[str, Any]) -> dict[str, Any]:
    output, errors = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(case.get("stdout") or os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        _run(case)
    os.close(errors)
    with open(output, encoding="utf-8", errors="replace") as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    return {"status": os.waitstatus_to_exitcode(status), "stderr": text}


def _run(case: dict[str, Any]) -> None:
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = list(case["command"])
    if case.get("limit") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case["limit"], resource.RLIM_INFINITY))
    status = 1
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cases = json.load(sys.stdin)
    import tensorflow
    import tensorflow_text
    import tf_keras

    assert tensorflow and tensorflow_text and tf_keras
    json.dump([_outcome(case) for case in cases], sys.stdout)


if __name__ == "__main__":
    main()
