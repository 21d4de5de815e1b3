"""Records beside those of the Model Garden's copy of run_squad.py, on real questions."""

from __future__ import annotations

import json

import pytest
from official.nlp.data import squad_lib
from official.nlp.tools import tokenization

from data_prep.finetuning.squad_files import read_squad
from data_prep.finetuning.squad_records import WindowMaker
from official_bert.data import pipeline
from official_bert.text import BertTokenizer, Vocab
from official_bert.text.windows import WindowRule
from tests.public_data import TESTDATA, public_data

SETTINGS = {"max_seq_length": 128, "doc_stride": 48, "max_query_length": 16}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Three articles, each question with its first answer: training takes no more there."""
    data = json.loads(public_data("squad/cs224n/dev-v2.0.json").read_text(encoding="utf-8"))
    data["data"] = data["data"][:3]
    for article in data["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                del qa["answers"][1:]
    path = tmp_path_factory.mktemp("squad") / "train-v2.0.json"
    path.write_text(json.dumps(data))
    return path


def _official(source, vocab_path, output_fn):
    examples = squad_lib.read_squad_examples(
        str(source), is_training=True, version_2_with_negative=True
    )
    squad_lib.convert_examples_to_features(
        examples, tokenization.FullTokenizer(str(vocab_path), do_lower_case=True),
        is_training=True, output_fn=output_fn, **SETTINGS,
    )  # fmt: skip


def test_windows_and_answers_are_the_same(source):
    assert _count_equal_windows(source, public_data("vocab/bert-base-uncased/vocab.txt")) > 2000


def test_windows_of_small_pieces_are_the_same():
    assert _count_equal_windows(TESTDATA / "squad.json", TESTDATA / "vocab.txt") == 22


def _count_equal_windows(source, vocab_path):
    vocab = Vocab.from_file(vocab_path)
    official = []
    _official(source, vocab_path, official.append)
    rows = list(read_squad(source, allow_impossible=True, with_answers=True))
    maker = WindowMaker(
        BertTokenizer(vocab, lower_case=True), vocab, WindowRule(**SETTINGS), for_training=True
    )
    ours = list(maker.records(rows))
    assert len(ours) == len(official)
    for record, feature in zip(ours, official, strict=True):
        length = sum(feature.input_mask)
        for name in ("input_ids", "input_mask", "segment_ids", "paragraph_mask"):
            assert record[name].tolist() == getattr(feature, name)[:length]
        most = [feature.token_is_max_context.get(i, False) for i in range(length)]
        assert record["max_context_mask"].tolist() == most
        single = {
            "unique_ids": feature.unique_id,
            "example_index": feature.example_index,
            "class_index": feature.class_index,
            "start_positions": feature.start_position,
            "end_positions": feature.end_position,
            "is_impossible": feature.is_impossible,
        }
        assert {name: record[name].tolist() for name in single} == {
            name: [value] for name, value in single.items()
        }
    return len(ours)


def test_its_records_can_be_trained_on(tmp_path):
    writer = squad_lib.FeatureWriter(str(tmp_path / "train.tfrecord"), is_training=True)
    _official(TESTDATA / "squad.json", TESTDATA / "vocab.txt", writer.process_feature)
    writer.close()
    paths = [str(tmp_path / "train.tfrecord")]
    parse = pipeline.make_parser(
        pipeline.present_features("question_answering", paths),
        sizes={"S": 128, "vocab_size": 346, "type_vocab_size": 2},
        pad_to_max=False,
    )
    batch = parse(next(iter(pipeline.evaluation_batches(paths, batch_size=8))))
    assert batch["input_word_ids"].shape == batch["paragraph_mask"].shape == [8, 128]
    assert batch["start_positions"].shape == [8, 1]
