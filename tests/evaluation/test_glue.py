"""GLUE's metrics on hand-made cases, and the submission."""

import zipfile

import numpy as np
import pytest

from official_bert.errors import InputError
from official_bert.evaluation import glue, glue_files


def test_two_classes():
    # True, predicted: 1 1, 1 0, 0 0, 0 0, 0 1: tp 1, fn 1, tn 2, fp 1.
    logits = np.array([[0, 1], [1, 0], [1, 0], [1, 0], [0, 1]], np.float32)
    values = glue.metrics("classification", logits, np.array([[1], [1], [0], [0], [0]]))
    assert values["accuracy"] == pytest.approx(3 / 5)
    assert values["f1"] == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))
    assert values["matthews_correlation"] == pytest.approx((1 * 2 - 1 * 1) / np.sqrt(2 * 2 * 3 * 3))


def test_three_classes_have_no_binary_f1():
    values = glue.metrics("classification", np.eye(3), np.array([[0], [1], [1]]))
    assert values["accuracy"] == pytest.approx(2 / 3)
    assert "f1" not in values


def test_numbers():
    logits, labels = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [2.0], [3.0]])
    values = glue.metrics("regression", logits, labels)
    assert values["spearman"] == pytest.approx(1.0)
    assert values["pearson"] == pytest.approx(0.98198, abs=1e-5)
    assert values["mean_squared_error"] == pytest.approx(1 / 3)
    # A model that says the mean has no correlation with anything.
    constant = glue.metrics("regression", np.ones([3, 1]), labels)
    assert constant["pearson"] == constant["spearman"] == 0.0


def test_several_labels():
    logits = np.array([[5.0, -5.0], [5.0, 5.0]])
    values = glue.metrics("multi_label", logits, np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert values == {
        "micro_f1": pytest.approx(2 * 2 / (2 * 2 + 1)),
        "macro_f1": pytest.approx(0.5),
        "accuracy": 0.5,
    }


def test_confusion_rows_are_true_classes():
    logits = np.array([[1, 0], [1, 0], [0, 1]])
    matrix = glue.confusion_matrix(logits, np.array([[0], [1], [1]]))
    np.testing.assert_array_equal(matrix, [[1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("dataset", "problem", "metric"),
    [
        ("cola", "classification", "matthews_correlation"),
        ("mrpc", "classification", "f1"),
        ("csv", "classification", "accuracy"),
        ("stsb", "regression", "pearson_spearman"),
        ("csv", "multi_label", "micro_f1"),
    ],
)
def test_the_metric_that_decides(dataset, problem, metric):
    assert glue.main_metric(dataset, problem) == metric


# How many rows the published test sets have. WNLI, 146, needs no predictions.
TEST_ROWS = {
    "cola": 1063,
    "sst2": 1821,
    "mrpc": 1725,
    "stsb": 1379,
    "qqp": 390965,
    "mnli_matched": 9796,
    "mnli_mismatched": 9847,
    "qnli": 5463,
    "rte": 3000,
    "ax": 1104,
}


def _write_predictions(folder, rows):
    for task, count in rows.items():
        (folder / task).mkdir()
        value = "7.25" if task == "stsb" else "1"
        lines = ["id\tprediction\tprobability_0", *[f"{i}\t{value}\t0.5" for i in range(count)]]
        (folder / task / "predictions.tsv").write_text("\n".join(lines) + "\n")


def test_the_submission_has_eleven_files(tmp_path):
    _write_predictions(tmp_path, TEST_ROWS)
    glue_files.write_submission(tmp_path, tmp_path / "glue.zip")
    with zipfile.ZipFile(tmp_path / "glue.zip") as archive:
        assert len(archive.namelist()) == 11
        assert archive.read("CoLA.tsv").decode().splitlines()[:2] == ["index\tprediction", "0\t1"]
        assert archive.read("STS-B.tsv").decode().splitlines()[1] == "0\t5.000"
        wnli = archive.read("WNLI.tsv").decode().splitlines()
        assert len(wnli) == 147 and wnli[-1] == "145\t0"


def test_the_message_about_what_a_submission_lacks(tmp_path):
    with pytest.raises(InputError, match="cola/predictions.tsv is missing"):
        glue_files.write_submission(tmp_path, tmp_path / "glue.zip")
    _write_predictions(tmp_path, {"cola": 3})
    with pytest.raises(InputError, match="has 3 rows, the test set has 1063"):
        glue_files.write_submission(tmp_path, tmp_path / "glue.zip")
    assert not (tmp_path / "glue.zip").exists()
