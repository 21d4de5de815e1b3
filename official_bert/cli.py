"""How every command of the project starts, fails and stops.

A command module defines its absl flags at the top, imports TensorFlow only inside `main` (so that
`--help` answers at once) and ends with `if __name__ == "__main__": cli.run(main)`.
"""

from __future__ import annotations

import contextlib
import io
import logging as python_logging
import os
import pathlib
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

from absl import flags, logging

from official_bert.errors import InputError
from official_bert.file_errors import explain
from official_bert.path import shown_paths

INPUT_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130
TERMINATED_STATUS = 143
_STDOUT = "standard output"
_HELP_ARGUMENTS = ("--help", "-help", "-h", "--helpshort")
_PROJECT_ROOT = str(pathlib.Path(__file__).resolve().parent.parent)


class Terminated(SystemExit):
    """SIGTERM came: what is under way is cleaned up, then the process ends with status 143.

    Raised wherever the main thread is, like KeyboardInterrupt; `except Exception` lets it pass.
    """

    def __init__(self) -> None:
        super().__init__(TERMINATED_STATUS)


def run(main: Callable[..., None], *, takes_arguments: bool = False) -> NoReturn:
    """Parses the flags, calls `main` and exits.

    With `takes_arguments`, `main` gets what else is on the command line; else that is a mistake.

    Exit status: 0 after success; 2 with one line on stderr for an `InputError`, a wrong flag, an
    error of the file system or too little memory; 130 after Ctrl-C; 143 after SIGTERM; 1 with a
    full traceback for everything else, which is a fault of ours.
    """
    # TensorFlow's start-up notices say nothing to a user; a level that the user set is kept.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # On CPUs without AVX-512 TensorFlow leaves oneDNN off; training is 1.4 times as fast with it.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    status = 0
    try:
        signal.signal(signal.SIGTERM, _terminate)
        _set_up_streams()
        if any(argument in _HELP_ARGUMENTS for argument in sys.argv[1:]):
            print(_help(), flush=True)
        else:
            positional = flags.FLAGS(sys.argv)[1:]
            if positional and not takes_arguments:
                raise InputError(
                    f"unexpected argument {positional[0]!r}: flags are written --name=value"
                )
            _set_up_logging()
            main(*positional)
        sys.stdout.flush()  # Here, where a full disk can still be told.
    except Terminated:
        _say("terminated")
        status = TERMINATED_STATUS
    except SystemExit:
        _fails(sys.stdout)
        raise
    except (InputError, flags.Error) as error:
        status = _told(str(error))
    except KeyboardInterrupt:
        _say("interrupted")
        status = INTERRUPTED_STATUS
    except Exception as error:
        status = _status_of(error)
    # Nothing is left to clean up: a signal may end the process at once, without a traceback.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _fails(sys.stdout)
    sys.exit(status)


def _status_of(error: Exception) -> int:
    """Says what went wrong, or raises it again where it is a fault of ours."""
    if isinstance(error, BrokenPipeError) and error.filename == _STDOUT:
        return 0  # The reader of our output went away (`| head`): nothing is wrong.
    line = explain(error)
    if line is None:
        _fails(sys.stdout)
        raise error
    return _told(line)


def _fails(stream: TextIO | None) -> bool:
    """Whether what was written to `stream` cannot get out; it then leads nowhere from here on.

    The interpreter would try the same again while it exits, and report it in its own way.
    """
    if stream is None:
        return False
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return True
    return False


def _terminate(number: int, frame: Any) -> NoReturn:
    # The way out is taken once: who is in a hurry has SIGKILL.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated


class _ClosedStdin(io.RawIOBase):
    """Standard input where there is none: whoever reads it hears so."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        raise InputError("standard input is closed: name a file, </dev/null for no text")


class _Stdout(io.FileIO):
    """Standard output whose errors say what they are about."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = _STDOUT
            raise


def _set_up_streams() -> None:
    """Makes errors of standard output known by their name, and fills the places of closed streams:
    the next file that is opened would become one.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedStdin()))
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)
        raise InputError(f"{_STDOUT} is closed: name a file, >/dev/null for none")
    if sys.stderr is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115

    if isinstance(sys.stdout, io.TextIOWrapper):
        before = sys.stdout
        before.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Stdout(before.fileno(), "w", closefd=False)),
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=before.line_buffering or before.write_through,
        )


def _set_up_logging() -> None:
    """Time and message on stderr: all that this project says, only the warnings of libraries."""
    logging.use_absl_handler()
    logging.set_verbosity(logging.INFO)
    logging.set_stderrthreshold(logging.INFO)
    handler = logging.get_absl_handler()
    handler.setFormatter(python_logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    handler.addFilter(
        lambda record: (
            record.levelno >= python_logging.WARNING
            or (
                record.pathname.startswith(_PROJECT_ROOT)
                and "site-packages" not in record.pathname[len(_PROJECT_ROOT) :]
            )
        )
    )


def _help() -> str:
    module = sys.modules["__main__"]
    command = f"python -m {module.__spec__.name}" if module.__spec__ else sys.argv[0]
    return f"{(module.__doc__ or '').strip()}\n\nusage: {command} [flags]\n\n" + (
        flags.FLAGS.module_help(module).strip()
    )


def _told(message: str) -> int:
    _say(f"error: {' '.join(shown_paths(message).split())}")
    return INPUT_ERROR_STATUS


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # The exit status tells the rest.
        print(line, file=sys.stderr)
    _fails(sys.stderr)
