"""The files that the site of the GLUE benchmark takes."""

from __future__ import annotations

import csv
import io
import pathlib
import zipfile

from official_bert.atomic import atomic_file
from official_bert.errors import InputError
from official_bert.path import local_copy

PREDICTIONS_NAME = "predictions.tsv"
# Folder -> name in the zip, number of rows of the test set.
_FILES = {
    "cola": ("CoLA.tsv", 1063),
    "sst2": ("SST-2.tsv", 1821),
    "mrpc": ("MRPC.tsv", 1725),
    "stsb": ("STS-B.tsv", 1379),
    "qqp": ("QQP.tsv", 390965),
    "mnli_matched": ("MNLI-m.tsv", 9796),
    "mnli_mismatched": ("MNLI-mm.tsv", 9847),
    "qnli": ("QNLI.tsv", 5463),
    "rte": ("RTE.tsv", 3000),
    "wnli": ("WNLI.tsv", 146),
    "ax": ("AX.tsv", 1104),
}
_WNLI_MAJORITY = "0"
_LOWEST, _HIGHEST = 0.0, 5.0


def write_submission(predictions_dir: pathlib.Path, path: pathlib.Path) -> None:
    """Writes the zip with eleven files: a line of names, then `index`, `prediction`.

    Args:
        predictions_dir: has `<dataset>/predictions.tsv`.
        path: the zip.

    Raises:
        InputError: a data set is missing, or has another number of rows than its test set.
    """
    contents = {}
    for dataset, (name, rows) in _FILES.items():
        source = predictions_dir / dataset / PREDICTIONS_NAME
        if source.exists():
            predictions = _read(source)
        elif dataset == "wnli":
            predictions = [_WNLI_MAJORITY] * rows
        else:
            raise InputError(f"{source} is missing: predict the test split of {dataset} into it")
        if len(predictions) != rows:
            raise InputError(f"{source} has {len(predictions)} rows, the test set has {rows}")
        if dataset == "stsb":
            scores = (min(max(float(text), _LOWEST), _HIGHEST) for text in predictions)
            predictions = [f"{score:.3f}" for score in scores]
        contents[name] = predictions
    with (
        atomic_file(path, "wb") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, predictions in contents.items():
            archive.writestr(name, _table(predictions))


def _read(path: pathlib.Path) -> list[str]:
    with open(local_copy(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if reader.fieldnames is None or "prediction" not in reader.fieldnames:
            raise InputError(f"{path} has no column prediction: official_bert.predict writes it")
        return [row["prediction"] for row in reader]


def _table(predictions: list[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
    writer.writerow(["index", "prediction"])
    writer.writerows(enumerate(predictions))
    return text.getvalue()
