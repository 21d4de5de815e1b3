"""The one exception that means "the user can mend this"."""

from __future__ import annotations


class InputError(ValueError):
    """A mistake in what the user gave: a file, a flag, a config field, a record.

    The message is one line that names the file, line or record, the field, the value and what to
    do. Commands print it without a traceback and exit with status 2 (see `official_bert.cli`).
    """
