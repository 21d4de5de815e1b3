"""`export.json`, which an export carries among its assets: what it is and what it needs."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from official_bert.atomic import atomic_file
from official_bert.data.manifest import sha256_of_file
from official_bert.errors import InputError, shown
from official_bert.json_file import read_json
from official_bert.path import to_path
from official_bert.regular_file import check_regular

FILE_NAME = "export.json"
SAVED_MODEL_NAME = "saved_model.pb"
# Its path in a SavedModel.
SAVED_MODEL_FILE = f"assets/{FILE_NAME}"


@dataclasses.dataclass
class ExportInfo:
    """The description of an export.

    Attributes:
        task: the training task; "" for an encoder alone.
        answers: the kinds of answer it gives, the one of `serving_default` first; each is the name
            of a signature.
        options: the fields of `AnswerOptions` that it was made with.
        precision: float32, bfloat16 or int8.
        config_sha256: of the model's bert_config.json, as `BertConfig.to_json` writes it.
        vocab_sha256: of vocab.txt.
        metrics: the model's eval_results.json; empty where it was never evaluated.
        signatures: name -> {"inputs": {name: [dtype, shape]}, "outputs": the same}.
        versions: of the packages that wrote it.
        per_token_outputs: of a LiteRT export: the outputs whose second axis counts tokens.
        ops: of a SavedModel's graph, by the package that has them: {"tensorflow": […], …}.
        least_tensorflow_serving: the least release of TensorFlow Serving that has these ops.
        files: name, seen from the folder of the export -> {"bytes": size, "sha256": hex}; empty in
            exports of earlier versions.
    """

    task: str
    answers: list[str]
    options: dict[str, Any]
    precision: str
    config_sha256: str
    vocab_sha256: str
    metrics: dict[str, Any]
    signatures: dict[str, Any]
    versions: dict[str, str]
    per_token_outputs: list[str] = dataclasses.field(default_factory=list)
    ops: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    least_tensorflow_serving: str = ""
    files: dict[str, Any] = dataclasses.field(default_factory=dict)

    def save(self, path: pathlib.Path) -> None:
        """Writes it to `path`; a metric that is no number is left out, JSON has none."""
        values = dataclasses.asdict(self)
        values["metrics"] = _finite(self.metrics)
        values["options"]["task_options"] = _finite(self.options.get("task_options", {}))
        path.parent.mkdir(exist_ok=True)
        with atomic_file(path) as file:
            file.write(json.dumps(values, indent=2, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: pathlib.Path) -> ExportInfo:
        """Reads it from `path`.

        Raises:
            InputError: it is not there, or not what an export has: each field is checked.
        """
        if not path.exists():
            raise InputError(f"{path} is not there: that is no export of this project")
        values = read_json(path)
        names = {field.name for field in dataclasses.fields(cls)}
        required = names - {field.name for field in dataclasses.fields(cls) if _has_default(field)}
        if unknown := sorted(values.keys() - names):
            raise InputError(f"{path}: unknown field {shown(unknown[0])}: {_AGAIN}")
        if missing := sorted(required - values.keys()):
            raise InputError(f"{path} has no field {missing[0]!r}: {_AGAIN}")
        for name, value in values.items():
            is_right, wanted = _FIELDS[name]
            if not is_right(value):
                raise InputError(f"{path}: {name} is {shown(value)}, not {wanted}: {_AGAIN}")
        return cls(**values)

    def check_files(self, folder: pathlib.Path) -> None:
        """Checks that the files of the export are those that were written.

        Of the weights of a SavedModel, only the size is compared: they have checksums inside, which
        TensorFlow compares as it reads them.

        Raises:
            InputError: a file is missing, is no regular one, or differs.
        """
        for name, written in self.files.items():
            path = folder / name
            size = check_regular(path)
            if size != written["bytes"]:
                raise InputError(
                    f"{path} has {size} bytes, {written['bytes']} were written: copy or export it "
                    "again"
                )
            if not _WEIGHTS.search(name) and sha256_of_file(path) != written["sha256"]:
                raise InputError(
                    f"{path} is not the file that was written, its sha256 differs: copy or export "
                    "it again"
                )

    def text_inputs(self, path: pathlib.Path, name: str) -> dict[str, Any]:
        """The inputs of the signature `name`, all of them strings: name -> [dtype, shape].

        Raises:
            InputError: the export at `path` describes no such signature.
        """
        inputs: dict[str, Any] = self.signatures.get(name, {}).get("inputs", {})
        if not inputs or any(dtype != "string" for dtype, _ in inputs.values()):
            raise InputError(
                f"{path}: the signature {name!r} takes {shown(inputs)} as {FILE_NAME} says, not "
                f"texts: {_AGAIN}"
            )
        return inputs


def files_of(folder: pathlib.Path) -> dict[str, Any]:
    """What `ExportInfo.files` says of the files in `folder`; export.json is not among them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != FILE_NAME)
    return {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": sha256_of_file(path),
        }
        for path in paths
    }


_AGAIN = "export the model again"
_WEIGHTS = re.compile(r"^variables/variables\.data-")


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return not (
        field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in values.items()
        if not (isinstance(value, float) and not math.isfinite(value))
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and least <= value < 1 << 31


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_list(is_entry: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_entry, value))


def _is_mapping(is_value: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(is_value, value.values()))


def _is_object(
    required: Mapping[str, Callable[[Any], bool]],
    others: Mapping[str, Callable[[Any], bool]] | None = None,
    *,
    open_ended: bool = False,
) -> Callable[[Any], bool]:
    known = {**required, **(others or {})}

    def holds(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and required.keys() <= value.keys()
            and (open_ended or value.keys() <= known.keys())
            and all(known[name](value[name]) for name in value.keys() & known.keys())
        )

    return holds


def _is_tensor(value: Any) -> bool:
    """["int32", [null, 128]]"""
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], list)
        and all(size is None or _is_count(size, 0) for size in value[1])
    )


def _is_file_name(value: str) -> bool:
    path = pathlib.PurePosixPath(value)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}|", value) is not None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


_TASK_OPTIONS = {
    "problem": _is_text,
    "text_inputs": lambda value: _is_list(_is_text)(value) and len(set(value)) == len(value) > 0,
    "doc_stride": _is_count,
    "max_query_length": _is_count,
    "version_2_with_negative": lambda value: isinstance(value, bool | None),
    "null_threshold": _is_number,
}
_OPTIONS = _is_object(
    {"max_seq_length": lambda value: _is_count(value, 4), "candidates": _is_count},
    {
        "pad_to": lambda value: value is None or _is_count(value, 4),
        "concat_last_four": lambda value: isinstance(value, bool),
        "task_options": _is_object({}, _TASK_OPTIONS, open_ended=True),
    },
)
_SIGNATURE = _is_object({"inputs": _is_mapping(_is_tensor), "outputs": _is_mapping(_is_tensor)})
_FILES = _is_mapping(_is_object({"bytes": _is_size, "sha256": _is_sha256}))
# Field -> whether a value is right, and what the message says that it should be.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "task": (_is_text, "the name of a task"),
    "answers": (
        lambda value: _is_list(_is_text)(value) and len(set(value)) == len(value) > 0,
        "a list of answers, one or more",
    ),
    "options": (_OPTIONS, "what an answer is computed with"),
    "precision": (lambda value: value in ("float32", "bfloat16", "int8"), "a precision"),
    "config_sha256": (_is_sha256, "a sha256"),
    "vocab_sha256": (_is_sha256, "a sha256"),
    "metrics": (lambda value: isinstance(value, dict), "metrics by name"),
    "signatures": (_is_mapping(_SIGNATURE), "inputs and outputs of each signature"),
    "versions": (_is_mapping(_is_text), "versions by package"),
    "per_token_outputs": (_is_list(_is_text), "a list of outputs"),
    "ops": (_is_mapping(_is_list(_is_text)), "lists of ops by package"),
    "least_tensorflow_serving": (_is_text, "a version"),
    "files": (
        lambda value: _FILES(value) and all(map(_is_file_name, value)),
        "sizes and sha256 of files in the folder",
    ),
}


def newest_version(path: str | os.PathLike[str]) -> pathlib.Path:
    """The SavedModel in `path`, which is one or holds numbered ones, as TF Serving looks for them.

    Raises:
        InputError: there is none.
    """
    folder = to_path(path)
    if (folder / SAVED_MODEL_NAME).exists():
        return folder
    versions = [
        child
        for child in (folder.iterdir() if folder.is_dir() else ())
        if child.name.isdecimal() and (child / SAVED_MODEL_NAME).exists()
    ]
    if not versions:
        raise InputError(f"{folder} has no SavedModel: neither saved_model.pb nor folders like 1/")
    return max(versions, key=lambda child: int(child.name))
