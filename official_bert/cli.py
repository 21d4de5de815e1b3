"""How every command of the project starts, fails and stops.

A command module defines its absl flags at the top, imports TensorFlow only inside `main` (so that
`--help` answers at once) and ends with `if __name__ == "__main__": cli.run(main)`.
"""

from __future__ import annotations

import logging as python_logging
import os
import pathlib
import sys
from collections.abc import Callable
from typing import NoReturn

from absl import flags, logging

from official_bert.errors import InputError

INPUT_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130
_HELP_ARGUMENTS = ("--help", "-help", "-h", "--helpshort")
_PROJECT_ROOT = str(pathlib.Path(__file__).resolve().parent.parent)


def run(main: Callable[..., None], *, takes_arguments: bool = False) -> NoReturn:
    """Parses the flags, calls `main` and exits.

    With `takes_arguments`, `main` gets what else is on the command line; else that is a mistake.

    Exit status: 0 after success; 2 with one line on stderr for an `InputError` or a wrong flag;
    130 after Ctrl-C; 1 with a full traceback for everything else, which is a fault of ours.
    """
    # TensorFlow's start-up notices say nothing to a user; a level that the user set is kept.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # On CPUs without AVX-512 TensorFlow leaves oneDNN off; training is 1.4 times as fast with it.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    try:
        if any(argument in _HELP_ARGUMENTS for argument in sys.argv[1:]):
            print(_help(), flush=True)
            sys.exit(0)
        positional = flags.FLAGS(sys.argv)[1:]
        if positional and not takes_arguments:
            _fail(f"unexpected argument {positional[0]!r}: flags are written --name=value")
        _set_up_logging()
        main(*positional)
    except (InputError, flags.Error) as error:
        _fail(str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED_STATUS)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong. Pointing stdout at
        # nowhere keeps the interpreter from reporting the same pipe again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


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


def _fail(message: str) -> NoReturn:
    one_line = " ".join(message.split())
    print(f"error: {one_line}", file=sys.stderr)
    sys.exit(INPUT_ERROR_STATUS)
