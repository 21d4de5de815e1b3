"""How every command of the project starts, fails and stops.

A command module defines its absl flags at the top, imports TensorFlow only inside `main` (so that
`--help` answers at once) and ends with `if __name__ == "__main__": cli.run(main)`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from absl import flags, logging

from official_bert.errors import InputError

INPUT_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130
_HELP_ARGUMENTS = ("--help", "-help", "-h", "--helpshort")


def run(main: Callable[[], None]) -> NoReturn:
    """Parses the flags, calls `main` and exits.

    Exit status: 0 after success; 2 with one line on stderr for an `InputError` or a wrong flag;
    130 after Ctrl-C; 1 with a full traceback for everything else, which is a fault of ours.
    """
    # TensorFlow's start-up notices say nothing to a user; a level that the user set is kept.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if any(argument in _HELP_ARGUMENTS for argument in sys.argv[1:]):
        print(_help())
        sys.exit(0)
    try:
        positional = flags.FLAGS(sys.argv)[1:]
        if positional:
            _fail(f"unexpected argument {positional[0]!r}: flags are written --name=value")
        logging.use_absl_handler()
        logging.set_verbosity(logging.INFO)
        logging.set_stderrthreshold(logging.INFO)
        main()
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
