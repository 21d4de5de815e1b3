"""Classes by name: "package.module:Class" in a config, in a flag or in a table."""

from __future__ import annotations

import importlib

from official_bert.errors import InputError


def load_class(path: str, base: type | None = None) -> type:
    """The class that a string names; its module is imported.

    Args:
        path: "package.module:Class".
        base: what the class must be a subclass of; None for any class.

    Raises:
        InputError: the string has another form, or names no such class.
    """
    module_name, colon, class_name = path.partition(":")
    names = [*module_name.split("."), class_name]
    if not colon or not all(name.isidentifier() for name in names):
        raise InputError(f"{path!r} names no class: write package.module:Class")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # A module that exists but imports a missing one is another fault: it is named as it is.
        missing = str(error.name)
        if module_name != missing and not module_name.startswith(f"{missing}."):
            raise
        raise InputError(
            f"{path!r}: there is no module {missing}; it is found in the working directory, in "
            "PYTHONPATH or where pip installs"
        ) from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise InputError(f"{path!r}: {module_name} has no class {class_name}")
    if base is not None and not issubclass(found, base):
        raise InputError(
            f"{path!r} is no subclass of {base.__module__}.{base.__qualname__}, which it must be"
        )
    return found
