"""GLUE and XNLI: the official files -> examples (Devlin et al. 2019, section 4.1).

Columns are found by the names in the first line where the file has one, so that an extra column
does no harm. Quotes are plain characters.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

from data_prep.finetuning.base import Example
from data_prep.finetuning.delimited import Row, read_tsv
from data_prep.finetuning.glue_layouts import LAYOUTS, XNLI_TRAIN
from data_prep.finetuning.sentences import CLASSIFICATION, REGRESSION, SentenceDataSet
from data_prep.finetuning.settings import Settings
from official_bert.errors import InputError

_SAME_LABEL = {"contradictory": "contradiction"}
_SCORES = (0.0, 5.0)
# A file of theirs that says which training pairs are the development set.
_MRPC_DEV_IDS = ("dev_ids.tsv", "dev_ids")


class GlueDataSet(SentenceDataSet):
    """One GLUE task, or XNLI in one language (`--language`)."""

    def __init__(self, settings: Settings) -> None:
        self._task = settings.dataset
        self._layout = LAYOUTS[self._task]
        self._language = settings.flags.language
        super().__init__(
            settings,
            problem=CLASSIFICATION if self._layout.labels else REGRESSION,
            num_texts=len(self._layout.texts),
        )
        self._dev_pairs = self._find_dev_pairs(settings.data_dir)

    def find_labels(self) -> list[str]:
        return list(self._layout.labels)

    def examples(self, split: str) -> Iterator[Example]:
        """{"id", "text_a", "text_b" for pairs, "label" and "label_id" outside test sets}."""
        path = self.files[split]
        is_test = split.startswith("test")
        layout = self._layout
        if self._task == "xnli" and split == "train":
            layout = XNLI_TRAIN
        texts = layout.test_texts if is_test and layout.test_texts else layout.texts
        label = "" if is_test and self._task != "xnli" else layout.label
        rows = read_tsv(path, self.bad_rows)
        names = self._header(path, rows) if isinstance(texts[0], str) else None
        text_columns = [self._column(path, names, column) for column in texts]
        label_column = self._column(path, names, label) if label != "" else None
        language = self._column(path, names, layout.language) if layout.language else None
        id_column = names.index("index") if names and "index" in names else None
        ids = [self._column(path, names, f"#{n} ID") for n in (1, 2)] if self._dev_pairs else []
        # The columns that each row must have.
        wanted = [*text_columns, label_column, language, id_column, *ids]

        def example(numbered: Row) -> Example | None:
            line, row = numbered
            location = f"{path}, line {line}"
            self._check_columns(location, row, names, wanted)
            if language is not None and row[language] != self._language:
                return None
            if ids and split in ("train", "dev"):
                pair = (row[ids[0]], row[ids[1]])
                if (pair in self._dev_pairs) != (split == "dev"):
                    return None
            found: Example = {} if id_column is None else {"id": row[id_column]}
            for name, column in zip(("text_a", "text_b"), text_columns, strict=False):
                found[name] = row[column]
            if label_column is not None:
                found |= self._label(location, row[label_column])
            return found

        for number, found in enumerate(self.bad_rows.keep_good(rows, example)):
            yield {"id": number, **found}

    def statistics(self) -> dict[str, Any]:
        """How many texts were cut, and which rows were left out with `--skip_bad_rows`."""
        return {**super().statistics(), "skipped_rows": [], **self.bad_rows.statistics()}

    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        if data_dir is None:
            raise InputError("give --data_dir, or --train_file, --dev_file and --test_file")
        names = dict(self._layout.files)
        if self._task == "xnli":
            names = {"train": (f"multinli.train.{self._language}.tsv",), **names}
        found = {
            split: data_dir / name
            for split, candidates in names.items()
            for name in candidates
            if (data_dir / name).is_file()
        }
        if self._task == "mrpc" and "dev" not in found and "train" in found:
            # One file holds both; a second one says which of its pairs are which.
            found = {"train": found["train"], "dev": found["train"], **found}
        if not found:
            wanted = ", ".join(name for candidates in names.values() for name in candidates)
            raise InputError(f"{data_dir} has no file of {self._task}: looked for {wanted}")
        return found

    def _find_dev_pairs(self, data_dir: pathlib.Path | None) -> set[tuple[str, str]]:
        paths = self.files
        if self._task != "mrpc" or data_dir is None or paths.get("dev") != paths.get("train"):
            return set()
        path = next((data_dir / n for n in _MRPC_DEV_IDS if (data_dir / n).is_file()), None)
        if path is None:
            raise InputError(f"{data_dir} has neither dev.tsv nor {' or '.join(_MRPC_DEV_IDS)}")
        pairs = set()
        for line, row in read_tsv(path):
            if len(row) < 2:
                raise InputError(f"{path}, line {line}: two ids of sentences are expected")
            pairs.add((row[0], row[1]))
        return pairs

    def _header(self, path: pathlib.Path, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
        first = next(rows, None)
        if first is None:
            raise InputError(f"{path} is empty")
        # The published MRPC files begin with the letters of a byte order mark that went wrong.
        return [name.removeprefix("BOM") if name == "BOMQuality" else name for name in first[1]]

    def _column(self, path: pathlib.Path, names: list[str] | None, column: str | int) -> int:
        if isinstance(column, int):
            return column
        if names is None or column not in names:
            raise InputError(
                f"{path}, line 1: no column {column!r} among {', '.join(names or ())}: the first "
                "line must name the columns"
            )
        return names.index(column)

    def _check_columns(
        self, location: str, row: list[str], names: list[str] | None, wanted: list[int | None]
    ) -> None:
        least = 1 + max(column for column in wanted if column is not None)
        if names is None and len(row) != least:
            raise InputError(
                f"{location}: {len(row)} columns, expected {least}, and no line with names"
            )
        if names is not None and len(row) < least:
            raise InputError(f"{location}: {len(row)} columns, the first line names {len(names)}")

    def _label(self, location: str, text: str) -> dict[str, Any]:
        labels = self._layout.labels
        if labels:
            text = _SAME_LABEL.get(text, text)
            if text not in labels:
                raise InputError(f"{location}: label {text!r} is not one of {', '.join(labels)}")
            return {"label": text, "label_id": labels.index(text)}
        low, high = _SCORES
        try:
            score = float(text)
        except ValueError as error:
            raise InputError(f"{location}: score {text!r} is not a number") from error
        if not low <= score <= high:
            raise InputError(f"{location}: score {text} is not from {low:g} to {high:g}")
        return {"label": score, "label_id": score}
