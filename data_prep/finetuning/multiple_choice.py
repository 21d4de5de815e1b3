"""Multiple choice: SWAG's CSV and JSON lines of one's own -> examples -> records.

C choices, S tokens of the longest.
"""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from data_prep.finetuning.base import DataSet, Example, Record
from data_prep.finetuning.settings import Settings
from data_prep.finetuning.table import Row, read_table
from official_bert.errors import InputError
from official_bert.text.segments import join_segments

_FILE_NAMES = {
    "train": ("train.csv", "train.jsonl"),
    "dev": ("val.csv", "dev.csv", "dev.jsonl", "val.jsonl"),
    "test": ("test.csv", "test.jsonl"),
}
_ENDING = "ending"
_AT_ONCE = 256


class MultipleChoiceDataSet(DataSet):
    """A prompt and its possible continuations, one of which is right.

    `.csv` files have SWAG's columns `sent1`, `sent2`, `ending0`, `ending1`, … and `label`; any
    number of endings. The prompt is `sent1`, a choice is `sent2` and an ending (Zellers et al.
    2018; Devlin et al. 2019, section 4.4). `.jsonl` files have objects with `prompt`, `choices`
    (a list of at least two) and `answer` (the position of the right one, from 0). Test files need
    no answers.

    Args:
        settings: of the run.

    Raises:
        InputError: no file is there.
    """

    record_kind = "multiple_choice"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        for path in self.files.values():
            if path.suffix not in (".csv", ".jsonl"):
                raise InputError(f"{path}: the name must end with .csv (SWAG's columns) or .jsonl")
        self._most_choices = 0
        self.options = {"max_choices": self._most_choices}
        self._truncated = 0

        def join(prompts: tf.Tensor, choices: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
            segments = [settings.tokenizer.tokenize(texts) for texts in (prompts, choices)]
            sizes = tf.add_n([segment.row_lengths() for segment in segments])
            return join_segments(segments, settings.vocab, settings.max_seq_length), sizes

        self._join = tf.function(join, autograph=False, reduce_retracing=True)

    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        """Those in the folder with a known name."""
        found = {}
        if data_dir is not None:
            for split, names in _FILE_NAMES.items():
                present = [data_dir / name for name in names]
                if path := next(filter(pathlib.Path.is_file, present), None):
                    found[split] = path
        if not found:
            known = ", ".join(name for names in _FILE_NAMES.values() for name in names)
            raise InputError(
                f"--data_dir={data_dir}: none of {known} is there; give --train_file and so on"
            )
        return found

    def examples(self, split: str) -> Iterator[Example]:
        """{"id", "prompt", "choices" and, where it is known, "answer"}."""
        path = self.files[split]
        read = _swag_example if path.suffix == ".csv" else _own_example

        def example(numbered: Row) -> Example:
            line, row = numbered
            location = f"{path}, line {line}"
            found = read(location, row)
            if "answer" not in found and split != "test":
                column = "label" if path.suffix == ".csv" else "answer"
                raise InputError(f"{location}: there is no {column}; only test files may lack it")
            return found

        rows = read_table(path, self.bad_rows)
        for number, found in enumerate(self.bad_rows.keep_good(rows, example)):
            yield {"id": number, **found}

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[Record]:
        remaining = iter(examples)
        while batch := list(itertools.islice(remaining, _AT_ONCE)):
            counts = [len(example["choices"]) for example in batch]
            self._most_choices = max(self._most_choices, *counts)
            self.options = {"max_choices": self._most_choices}
            inputs, sizes = self._join(
                tf.repeat(tf.constant([example["prompt"] for example in batch]), counts),
                tf.constant([choice for example in batch for choice in example["choices"]]),
            )
            arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
            lengths = arrays["input_mask"].sum(axis=1)
            self._truncated += int(np.sum(sizes.numpy() + 3 > lengths))
            ends = np.cumsum(counts)
            for example, end, count in zip(batch, ends, counts, strict=True):
                width = lengths[end - count : end].max()
                # All choices of a record are as long as its longest: C * S numbers.
                record: Record = {
                    name: arrays[model_name][end - count : end, :width].ravel()
                    for name, model_name in (
                        ("input_ids", "input_word_ids"),
                        ("input_mask", "input_mask"),
                        ("segment_ids", "input_type_ids"),
                    )
                }
                record["num_choices"] = np.array([count])
                record["example_id"] = np.array([example["id"]])
                if "answer" in example:
                    record["label_ids"] = np.array([example["answer"]])
                yield record

    def statistics(self) -> dict[str, Any]:
        """How many choices were cut, together with their prompts."""
        return {"truncated": self._truncated}


def _swag_example(location: str, row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = itertools.takewhile(lambda n: f"{_ENDING}{n}" in row, itertools.count())
    endings = [f"{_ENDING}{number}" for number in numbers]
    missing = [name for name in ("sent1", "sent2", "ending0", "ending1") if name not in row]
    if missing:
        raise InputError(
            f"{location}: there is no column {missing[0]}; SWAG's are sent1, sent2, ending0, "
            f"ending1, … and label; these are {', '.join(map(str, row))}"
        )
    for name in endings:
        if not row[name].strip():
            raise InputError(f"{location}: {name} is empty: each row needs {len(endings)} endings")
    example: dict[str, Any] = {
        "prompt": row["sent1"],
        "choices": [f"{row['sent2']} {row[name]}".strip() for name in endings],
    }
    if "label" in row:
        label = row["label"].strip()
        if not label.isascii() or not label.isdecimal() or int(label) >= len(endings):
            raise InputError(
                f"{location}: label is {row['label']!r}: 0 to {len(endings) - 1} expected"
            )
        example["answer"] = int(label)
    return example


def _own_example(location: str, row: Mapping[str, Any]) -> dict[str, Any]:
    prompt, choices = row.get("prompt"), row.get("choices")
    if not isinstance(prompt, str):
        raise InputError(f"{location}: prompt is {prompt!r}: a text is expected")
    if not isinstance(choices, list) or len(choices) < 2:
        raise InputError(
            f"{location}: choices is {choices!r}: a list of at least two texts is expected"
        )
    for number, choice in enumerate(choices):
        if not isinstance(choice, str) or not choice.strip():
            raise InputError(f"{location}: choice {number} is {choice!r}: a text is expected")
    example: dict[str, Any] = {"prompt": prompt, "choices": choices}
    answer = row.get("answer")
    if answer is not None:
        if type(answer) is not int or not 0 <= answer < len(choices):
            raise InputError(f"{location}: answer is {answer!r}: 0 to {len(choices) - 1} expected")
        example["answer"] = answer
    return example
