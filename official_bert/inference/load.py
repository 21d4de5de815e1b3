"""A model folder -> the modules that answer with it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence

from official_bert.checkpoints.heads import HEADS
from official_bert.checkpoints.load import Pretrained, load_pretrained
from official_bert.class_path import load_class
from official_bert.decoding.null_threshold import mean_null_threshold
from official_bert.errors import InputError
from official_bert.inference import answer_class, answers_of_kind
from official_bert.inference.base import AnswerModule, AnswerOptions
from official_bert.inference.precision import to_bfloat16
from official_bert.model_folder import CONFIG_NAME, ModelFolder
from official_bert.path import to_path
from official_bert.yaml_file import read_yaml

# [CLS], [SEP], [SEP] and a token.
_LEAST_LENGTH = 4


@dataclasses.dataclass(frozen=True)
class Answerable:
    """A loaded model with its answers.

    Attributes:
        task: the training task, as config.yaml names it; "" where there is no config.yaml.
        bundle: the loaded model.
        options: what the answers were made with.
        modules: by name, the usual answer first.
    """

    task: str
    bundle: Pretrained
    options: AnswerOptions
    modules: dict[str, AnswerModule]


def open_model(
    model_dir: str | os.PathLike[str],
    *,
    others: Sequence[str | os.PathLike[str]] = (),
    names: tuple[str, ...] = (),
    max_seq_length: int | None = None,
    precision: str = "float32",
    pad_to: int | None = None,
    candidates: int = AnswerOptions.candidates,
    concat_last_four: bool = False,
) -> Answerable:
    """Loads a model and makes its answer modules.

    Args:
        model_dir: a model folder, or any checkpoint that `official_bert.load_pretrained` knows.
        others: further ones of its kind that answer together with it, as an ensemble.
        names: of the answers; empty for all that the model can give.
        max_seq_length: the most tokens of a row; None: the most that the model takes.
        precision: "float32" or "bfloat16", see `to_bfloat16`.
        pad_to, candidates, concat_last_four: see `AnswerOptions`.

    Raises:
        InputError: no such model, it cannot give that answer, or an option is out of range.
    """
    bundle = load_pretrained(model_dir)
    if bundle.tokenizer is None:
        raise InputError(f"{model_dir} has no vocabulary: put its vocab.txt into the folder")
    task_options = ModelFolder(model_dir).task_options()
    if others:
        bundle = _ensemble(bundle, [load_pretrained(other) for other in others])
        all_options = [task_options, *(ModelFolder(other).task_options() for other in others)]
        task_options = {**task_options, "null_threshold": mean_null_threshold(all_options) or 0.0}
    if precision == "bfloat16":
        bundle = dataclasses.replace(bundle, model=to_bfloat16(bundle.model))
    options = AnswerOptions(
        max_seq_length=_max_seq_length(bundle, max_seq_length, pad_to),
        pad_to=pad_to,
        candidates=candidates,
        concat_last_four=concat_last_four,
        task_options=task_options,
    )
    known = answers_of_kind(bundle.kind)
    missing = {name: answer_class(name).missing(bundle) for name in known}
    for name in names:
        if name not in known:
            raise InputError(
                f"{model_dir} is a {bundle.kind}, which cannot {name}: it can {', '.join(known)}"
            )
        if missing[name]:
            raise InputError(f"{name} needs {missing[name]}, which {model_dir} lacks")
    wanted = names or tuple(name for name in known if not missing[name])
    modules = {name: answer_class(name)(bundle, options) for name in wanted}
    return Answerable(_task(to_path(model_dir)), bundle, options, modules)


def _ensemble(bundle: Pretrained, others: Sequence[Pretrained]) -> Pretrained:
    """`bundle` with the mean of all models; they must be of one kind and read the same text."""
    able = [head.kind for head in HEADS.values() if head.ensemble]
    for other in (bundle, *others):
        if other.kind not in able or other.kind != bundle.kind:
            raise InputError(
                f"{other.path} is a {other.kind}: an ensemble has models of one kind, which can be "
                f"{' or '.join(able)}"
            )
        if (other.vocab, other.tokenizer_config) != (bundle.vocab, bundle.tokenizer_config):
            raise InputError(
                f"{other.path} has another vocabulary, or other settings of its tokenizer, than "
                f"{bundle.path}: models of an ensemble must read the same tokens"
            )
    models = [bundle.model, *(other.model for other in others)]
    return dataclasses.replace(bundle, model=load_class(HEADS[bundle.kind].ensemble)(models))


def _task(folder: pathlib.Path) -> str:
    path = folder / CONFIG_NAME
    if not path.exists():
        return ""
    return str(read_yaml(path).get("task", ""))


def _max_seq_length(bundle: Pretrained, wanted: int | None, pad_to: int | None) -> int:
    limit = bundle.config.max_position_embeddings
    of_tokenizer = bundle.tokenizer.config()["model_max_length"] if bundle.tokenizer else None
    length = wanted or min(limit, of_tokenizer or limit)
    for name, value in (("max_seq_length", length), ("pad_to", pad_to)):
        if value is not None and not _LEAST_LENGTH <= value <= limit:
            raise InputError(
                f"{name} is {value}: it must be from {_LEAST_LENGTH} to the model's "
                f"max_position_embeddings {limit}"
            )
    return length
