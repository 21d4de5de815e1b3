"""Fields of dataclasses that say what their values must be.

    @dataclasses.dataclass
    class TrainConfig:
        batch_size: int = bounded(32, least=1, most=1_000_000)

The limit stands in the metadata of the field. `BertConfig` and the sections of an experiment check
their values with `checked_value`, so a limit is written once and every message has one form.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from official_bert.errors import InputError, shown

T = TypeVar("T")
_LIMIT = "limit"
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclasses.dataclass(frozen=True)
class Limit:
    """What a value must be, beside being of its type; of a list: each of its entries.

    Attributes:
        least, most: the smallest and the largest value.
        above, below: all values lie above and below these.
        choices: the values that there are; () for any.
        or_class: beside `choices`, "package.module:Class" is taken, for a class of one's own.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Sequence[Any] = ()
    or_class: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a value of the right type is within the limit."""
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (not self.choices or value in self.choices or (self.or_class and ":" in value))
        )

    def __str__(self) -> str:
        """For a message: "at least 1 and at most 1,000"; "gelu, relu or tanh"."""
        if self.choices:
            *others, last = [str(choice) or '""' for choice in self.choices]
            known = f"{', '.join(others)} or {last}" if others else last
            return f"{known}, or package.module:Class" if self.or_class else known
        bounds = {
            "at least": self.least,
            "above": self.above,
            "below": self.below,
            "at most": self.most,
        }
        return " and ".join(f"{w} {b:,}" for w, b in bounds.items() if b is not None)


def bounded(
    default: T,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Sequence[Any] = (),
    or_class: bool = False,
) -> T:
    """A field with a default and a `Limit`; a default that is a list is copied for each config.

    None is taken as well where the type of the field has it.
    """
    metadata = {_LIMIT: Limit(least, most, above, below, choices, or_class)}
    if isinstance(default, list):
        return typing.cast(
            T,
            dataclasses.field(default_factory=functools.partial(list, default), metadata=metadata),
        )
    return typing.cast(T, dataclasses.field(default=default, metadata=metadata))


def same_as(cls: type, name: str, **changes: Any) -> Any:
    """A field with the default and the limit of the field `name` of another dataclass.

    Args:
        cls: the dataclass, whose field has a default.
        name: of the field.
        **changes: `default`, where it is another one.
    """
    (field,) = (field for field in dataclasses.fields(cls) if field.name == name)
    return dataclasses.field(**{"default": field.default, "metadata": field.metadata, **changes})


@functools.cache
def _types(cls: type) -> Mapping[str, Any]:
    return typing.get_type_hints(cls)


def checked_field(cls: type, name: str, value: Any, label: str) -> Any:
    """A value for the field `name` of the dataclass `cls`; whole numbers become floats for a float.

    Args:
        cls: the dataclass.
        name: one of its fields, which is no dataclass itself.
        value: what is to be checked.
        label: what messages call the field.

    Raises:
        InputError: the value has another type, or is outside of the limit; numbers must be finite.
    """
    (field,) = (field for field in dataclasses.fields(cls) if field.name == name)
    kind = _types(cls)[name]
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        if value is None:
            return None
        kind = typing.get_args(kind)[0]
    limit = field.metadata.get(_LIMIT, Limit())
    if typing.get_origin(kind) is not list:
        return _checked(kind, limit, value, label)
    if not isinstance(value, list | tuple):
        raise InputError(f"{label} is {shown(value)}: it must be a list, as [1, 2]")
    (kind,) = typing.get_args(kind)
    return [_checked(kind, limit, entry, f"{label}[{i}]") for i, entry in enumerate(value)]


def section_of(cls: type, name: str) -> type | None:
    """The dataclass that the field `name` of `cls` holds; None where it holds a value."""
    kind = _types(cls)[name]
    return kind if isinstance(kind, type) and dataclasses.is_dataclass(kind) else None


def check_known(key: Any, known: Collection[str], prefix: str = "") -> None:
    """Refuses a key that is not among `known`, and names the nearest one that is.

    Args:
        key: what was given.
        known: the keys that there are.
        prefix: stands before all of them in messages.

    Raises:
        InputError: the key is another one.
    """
    if key in known:
        return
    name = key if isinstance(key, str) and len(key) <= 80 and key.isprintable() else shown(key)
    near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.4)
    hint = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(known)}"
    raise InputError(f"unknown key {prefix}{name}; {hint}")


def _checked(kind: type, limit: Limit, value: Any, label: str) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and is_number:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
        if not math.isfinite(value):
            raise InputError(f"{label} is {value}: it must be a finite number")
    elif not isinstance(value, kind) or (kind is int and not is_number):
        hint = " (numbers, true, false and null in quotes)" if kind is str else ""
        raise InputError(f"{label} is {shown(value)}: it must be {_KINDS[kind]}{hint}")
    if not limit.holds(value):
        raise InputError(f"{label} is {shown(value)}: it must be {limit}")
    return value
