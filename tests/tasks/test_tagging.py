"""Loss, joined windows and prediction files by hand; a whole run on small sentences."""

import json

import numpy as np
import pytest
import tensorflow as tf

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from data_prep.finetuning.tagging_files import read_tagged_file
from data_prep.finetuning.tagging_schemes import iob2_labels
from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig, load_experiment
from official_bert.runs.run import Run
from official_bert.tasks import task_class
from official_bert.tasks.feature_tagging import FeatureTaggingTask
from official_bert.tasks.tagging import TaggingTask, tagged_lines
from official_bert.text import Vocab
from tests.finetuning_data import TOKENS, settings
from tests.public_data import ROOT, TESTDATA, public_data

LABELS = iob2_labels(["LOC", "PER"])
OUT, B_LOC, I_LOC, B_PER, I_PER = range(5)


MANIFEST = Manifest(
    task="tagging",
    dataset="conll",
    splits={},
    max_seq_length=8,
    vocab_size=len(TOKENS),
    vocab_sha256="",
    sources={},
    seed=0,
    labels=LABELS,
    options={},
)


@pytest.fixture(scope="module")
def task():
    return TaggingTask(MANIFEST, Vocab(TOKENS), ExperimentConfig())


def test_the_loss_is_the_mean_over_first_pieces(task):
    batch = {
        # [CLS], two words of which the second has two pieces, [SEP], padding.
        "label_ids": tf.constant([[-1, OUT, B_PER, -1, -1, 0], [-1, I_LOC, -1, 0, 0, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]]),
    }
    logits = np.random.default_rng(0).normal(size=(2, 6, 5)).astype(np.float32)
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -np.mean(
        [
            log_probabilities[0, 1, OUT],
            log_probabilities[0, 2, B_PER],
            log_probabilities[1, 1, I_LOC],
        ]
    )
    sums, weights = task.sums(tf.constant(logits), batch), task.weights(batch)
    assert float(weights["tagging_loss"]) == 3
    assert float(sums["tagging_loss"] / weights["tagging_loss"]) == pytest.approx(expected)


def _record(sentence, window, words, labels):
    """As the evaluator gives it: words and labels of [CLS] pieces [SEP] and two of padding."""
    words = [-1, *words, -1, 0, 0]
    return {
        "sentence_id": np.array([sentence]),
        "sub_sentence_id": np.array([window]),
        "word_ids": np.array(words),
        "label": np.array([OUT, *labels, OUT, I_PER, I_PER]),
        "input_mask": np.array([1] * (len(words) - 2) + [0, 0]),
    }


COLLECTED = [
    _record(1, 0, [0, 1], [B_LOC, OUT]),
    # The second window of a sentence comes first; its I-PER goes on with nothing.
    _record(0, 1, [3, 4, 4], [I_PER, I_PER, B_LOC]),
    _record(0, 0, [0, 0, 1, 2], [B_LOC, OUT, B_PER, I_PER]),
]
EXAMPLES = [
    {
        "sentence_id": 0,
        "tags": ["B-LOC", "B-PER", "I-PER", "I-PER", "I-PER"],
        "before": ["-DOCSTART- O", ""],
        "lines": ["a\tx\tI-LOC", "b\tI-PER", "c d I-PER", "e  I-PER ", "f I-PER"],
        "after": [],
    },
    {
        "sentence_id": 1,
        "tags": ["B-LOC", "O"],
        "before": [""],
        "lines": ["a I-LOC", "b O"],
        "after": ["", "-DOCSTART- O"],
    },
]


def test_windows_are_joined_and_no_entity_goes_over_a_cut(task):
    results = task.results({"tagging_loss": 0.5}, COLLECTED, lambda: iter(EXAMPLES))
    assert results["loss"] == 0.5
    assert results["LOC_f1"] == 1.0
    assert results["PER_f1"] == 0.0  # An entity of four words is none of two.
    assert results["precision"] == pytest.approx(2 / 3)
    assert results["recall"] == pytest.approx(2 / 3)
    assert results["token_accuracy"] == pytest.approx(5 / 7)


def test_predictions_are_the_input_with_a_column_more(task, tmp_path):
    # The tags of the first sentence are those of its two windows, B-LOC B-PER I-PER and O O.
    (path,) = task.write_predictions(COLLECTED, lambda: iter(EXAMPLES), tmp_path)
    assert path.read_text() == (
        "-DOCSTART- O O\n\na\tx\tI-LOC\tB-LOC\nb\tI-PER\tB-PER\nc d I-PER I-PER\ne  I-PER O\n"
        "f I-PER O\n\na I-LOC B-LOC\nb O O\n\n-DOCSTART- O O\n"
    )


@pytest.mark.parametrize("name", ["wnut17/emerging.dev.conll", "wikigold/wikigold.conll.txt"])
def test_published_files_are_written_back(name):
    _check_written_back(public_data(f"ner/{name}"))


def test_a_file_of_four_columns_is_written_back():
    _check_written_back(TESTDATA / "entities.conll")


def _check_written_back(path):
    sentences, _ = read_tagged_file(path)
    examples = [
        {
            "sentence_id": number,
            "before": sentence.before,
            "lines": sentence.lines,
            "after": sentence.after,
        }
        for number, sentence in enumerate(sentences)
    ]
    tags = {number: sentence.tags for number, sentence in enumerate(sentences)}
    written = "".join(tagged_lines(examples, tags)).splitlines()
    original = path.read_text(encoding="utf-8").splitlines()
    assert len(written) == len(original)
    ours = iter([tag for sentence in sentences for tag in sentence.tags])
    for new, old in zip(written, original, strict=True):
        if not old.strip():
            assert new == old
            continue
        separator = "\t" if "\t" in old else " "
        line, tag = new.rsplit(separator, 1)
        assert line == old.rstrip(" ")
        assert tag == ("O" if old.startswith("-DOCSTART-") else next(ours))
    assert next(ours, None) is None


def _conll(count, seed):
    """A film or a book, with an adjective in front of it or not, is an entity."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        for _ in range(random.integers(1, 4)):
            noun = str(random.choice(["film", "book"]))
            lines += ["the O", *["was O"] * random.integers(0, 3)]
            inside = random.random() < 0.5
            lines += [f"good B-{noun}"] * inside
            lines.append(f"{noun}{'s' * random.integers(0, 2)} {'I' if inside else 'B'}-{noun}")
        lines.append("")
    return "\n".join(lines) + "\n"


def test_a_run_learns_and_predicts_in_order(tmp_path):
    files = {"train": tmp_path / "train.txt", "dev": tmp_path / "dev.txt"}
    files["train"].write_text(_conll(200, 0))
    files["dev"].write_text(_conll(30, 1))
    given = settings(
        "conll", files=files, max_seq_length=12, document_context=False, tag_scheme="auto"
    )
    data = tmp_path / "data"
    manifest = write_folder(make_data_set(given), given, data, num_shards=2, overwrite=False)
    assert manifest.splits["dev"]["num_records"] > manifest.splits["dev"]["num_examples"] == 30
    experiment = load_experiment(
        [],
        [
            "model.encoder.hidden_size=32,model.encoder.num_hidden_layers=1",
            "model.encoder.num_attention_heads=2,model.encoder.intermediate_size=32",
            "model.encoder.max_position_embeddings=16,model.encoder.initializer_range=0.2",
            f"task=tagging,data.path={data}",
            "optimizer.learning_rate=0.01,train.batch_size=8,train.epochs=8",
            "model.encoder.hidden_dropout_prob=0.0",
        ],
    )
    results = Run(experiment, str(tmp_path / "model")).train(evaluate=True, skip_nonfinite=False)
    assert results["f1"] > 0.9
    assert results["film_f1"] > 0.8
    stored = json.loads((tmp_path / "model" / "eval_results.json").read_text())
    assert stored["f1"] == results["f1"]
    run = Run(experiment, str(tmp_path / "model"))
    paths = run.predict("dev", str(tmp_path / "predictions"))
    lines = paths[0].read_text().splitlines()
    original = files["dev"].read_text().splitlines()
    assert [line.rsplit(" ", 1)[0] if line else "" for line in lines] == original
    agreeing = [line.split()[1] == line.split()[2] for line in lines if line]
    assert np.mean(agreeing) == pytest.approx(results["token_accuracy"])


def test_features_are_those_of_a_checkpoint():
    experiment = load_experiment([], ["task=feature_tagging"])
    with pytest.raises(InputError, match="model.pretrained is not set: features are those of"):
        FeatureTaggingTask(MANIFEST, Vocab(TOKENS), experiment)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs").rglob("*ner_*.yaml")), ids=lambda p: p.stem
)
def test_configs(path):
    experiment = load_experiment([path], ["model.pretrained=x"])
    task = task_class(experiment.task)(MANIFEST, Vocab(TOKENS), experiment)
    if experiment.task == "feature_tagging":
        config = BertConfig(
            vocab_size=20, hidden_size=8, num_hidden_layers=4, num_attention_heads=2
        )
        model = task.make_model(config, None)
        assert model.get_config()["lstm_size"] == 768
        assert model.get_config()["features"] == experiment.model.feature_tagger.features
