"""`export.json`, which an export carries among its assets: what it is and what it needs."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from typing import Any

from official_bert.errors import InputError

FILE_NAME = "export.json"
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

    def save(self, path: pathlib.Path) -> None:
        """Writes it to `path`."""
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: pathlib.Path) -> ExportInfo:
        """Reads it from `path`.

        Raises:
            InputError: it is not there, or not of this project.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(
                f"{path} cannot be read ({error.strerror}): that is no export of this project"
            ) from error
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path} is not what an export of this project has: {error}"
            ) from error


def newest_version(path: str | os.PathLike[str]) -> pathlib.Path:
    """The SavedModel in `path`, which is one or holds numbered ones, as TF Serving looks for them.

    Raises:
        InputError: there is none.
    """
    folder = pathlib.Path(path)
    if (folder / "saved_model.pb").exists():
        return folder
    versions = [
        child
        for child in (folder.iterdir() if folder.is_dir() else ())
        if child.name.isdecimal() and (child / "saved_model.pb").exists()
    ]
    if not versions:
        raise InputError(f"{folder} has no SavedModel: neither saved_model.pb nor folders like 1/")
    return max(versions, key=lambda child: int(child.name))
