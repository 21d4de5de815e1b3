"""YAML that people write: plain values, sections and lists; nothing that can grow or be executed.

Whole files are bounded before they are read. Tags (`!!python/object`) are refused, and so is a key
that stands twice, of which YAML would silently keep the second. Aliases are taken as long as what
they stand for, written out, stays small.
"""

from __future__ import annotations

import os
import re
from typing import Any

import yaml

from official_bert.errors import InputError, shown
from official_bert.regular_file import read_bytes

# A config has some hundred lines; class weights of 30,000 labels make it 250 KB.
LIMIT = 1 << 19
_MAX_NODES = 50_000
_MAX_DEPTH = 20
_MAX_DIGITS = 100
_FLOAT = "tag:yaml.org,2002:float"
# YAML 1.1 takes 3e-5 and 1.0e5 as text. They are numbers here, as in the Model Garden's configs.
_EXPONENTIAL = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$")


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The sections and keys in a YAML file.

    Raises:
        InputError: no such file, no regular one, larger than `LIMIT` bytes, not UTF-8, not YAML,
            empty, or something else than keys; and what `parse_yaml` refuses.
    """
    content = read_bytes(path, limit=LIMIT)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise InputError(f"{path} is UTF-16 or binary: save it as text in UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 at byte {error.start}: save it as text in UTF-8"
        ) from error
    try:
        values = parse_yaml(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if values is None:
        raise InputError(f"{path} is empty: write sections with keys, or leave the file out")
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold sections with keys, got {shown(values)}")
    return values


def parse_yaml(text: str) -> Any:
    """The value of a YAML text: None, bool, int, float, str, and lists and dictionaries of them.

        parse_yaml("train: {batch_size: 8, epochs: 3e0}")  # {"train": {"batch_size": 8, ...: 3.0}}

    Raises:
        InputError: not YAML; a tag, a repeated key, nested too deeply, aliases that grow, a number
            of too many digits.
    """
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        problem = ", ".join(filter(None, [error.context, error.problem]))
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise InputError(f"this is not YAML: {where}{problem}") from error
    except yaml.YAMLError as error:
        raise InputError(f"this is not YAML: {' '.join(str(error).split())}") from error


def parse_plain(text: str) -> Any:
    """The value of a text without quotes or brackets, in which no character is special.

    parse_plain("3e-5")  # 3e-05
    parse_plain("models/m[1]: #2")  # "models/m[1]: #2"
    """
    loader = _Loader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    if tag.endswith(":merge"):
        return text
    if len(text) > _MAX_DIGITS and tag.endswith((":int", ":float")):
        raise InputError(f"a number of {len(text)} digits")
    return loader.construct_object(yaml.ScalarNode(tag, text))


def dump_yaml(values: dict[str, Any]) -> str:
    """YAML that `read_yaml` reads as the same values, with the keys in their order."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False)


def _refused(mark: Any, problem: str) -> InputError:
    return InputError(f"line {mark.line + 1}: {problem}")


class _Dumper(yaml.SafeDumper):
    """Puts text in quotes that `_Loader` would take as a number."""


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str):
        super().__init__(text)
        self._open = 0
        self._composed = 0
        # Nodes and levels of what stands below a node, aliases written out.
        self._sizes: dict[yaml.Node, tuple[int, int]] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if getattr(event, "tag", None) is not None:
            raise _refused(event.start_mark, f"the tag {shown(event.tag)}: write values plainly")
        self._open += 1
        self._composed += 1
        if self._open > _MAX_DEPTH:
            raise _refused(event.start_mark, f"nested more than {_MAX_DEPTH} deep")
        if self._composed > _MAX_NODES:
            raise _refused(event.start_mark, f"more than {_MAX_NODES:,} values in all")
        node = super().compose_node(parent, index)
        assert node is not None
        self._open -= 1
        if not isinstance(event, yaml.AliasEvent):
            self._sizes[node] = self._measured(node)
        elif node not in self._sizes:
            raise _refused(event.start_mark, "an alias of something that it is a part of")
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        try:
            return super().construct_yaml_int(node)
        except ValueError as error:  # 0x_ is one by the rules of YAML.
            raise InputError(f"{shown(node.value)} is a number without digits") from error

    def _measured(self, node: yaml.Node) -> tuple[int, int]:
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            _check_repeats(node)
            children = [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        elif len(node.value) > _MAX_DIGITS and node.tag.endswith((":int", ":float")):
            raise _refused(node.start_mark, f"a number of {len(node.value)} digits")
        size = 1 + sum(self._sizes[child][0] for child in children)
        depth = 1 + max((self._sizes[child][1] for child in children), default=0)
        if size > _MAX_NODES or depth > _MAX_DEPTH:
            raise _refused(
                node.start_mark,
                f"more than {_MAX_NODES:,} values or {_MAX_DEPTH} levels, aliases written out",
            )
        return size, depth


def _check_repeats(node: yaml.MappingNode) -> None:
    first: dict[tuple[str, str], yaml.Mark] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            mark = first.setdefault((key.tag, key.value), key.start_mark)
            if mark is not key.start_mark:
                raise _refused(
                    key.start_mark,
                    f"the key {shown(key.value)} stands twice, first in line {mark.line + 1}: "
                    "put both together",
                )


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
# Dates stay text: a folder may be called 2024-01-01.
_Loader.yaml_implicit_resolvers = {
    first: [r for r in resolvers if not r[0].endswith((":timestamp", ":value"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_FLOAT, _EXPONENTIAL, list("-+.0123456789"))
_Dumper.add_implicit_resolver(_FLOAT, _EXPONENTIAL, list("-+.0123456789"))
