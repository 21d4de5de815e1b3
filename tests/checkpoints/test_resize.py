import numpy as np
import pytest

from official_bert import BertEncoder, BertPretrainer, load_pretrained
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from official_bert.text import Vocab
from tests.checkpoints.bundles import bundle_of
from tests.small_models import TINY

# 50 tokens: five special ones, [unused0] to [unused4], t5 to t44.
OLD = Vocab(
    [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *(f"[unused{i}]" for i in range(5)),
        *(f"t{i}" for i in range(5, 45)),
    ]
)


@pytest.fixture(scope="module")
def model():
    made = BertPretrainer(TINY)
    made.masked_lm.output_bias.assign(np.arange(50.0))
    return made


@pytest.fixture
def folder(model, tmp_path):
    write_pretrained(bundle_of(model, "pretrainer"), tmp_path / "model", "official_bert")
    OLD.save(tmp_path / "model" / "vocab.txt")
    return tmp_path / "model"


def test_new_tokens_at_the_end_and_in_the_place_of_unused_ones(model, folder, tmp_path):
    tokens = list(OLD.tokens)
    tokens[7] = "covid"  # in the place of [unused2]
    tokens += ["zoom", "teams"]
    path = tmp_path / "new.txt"
    Vocab(tokens).save(path)
    bundle = load_pretrained(folder, vocab_file=path)
    assert (bundle.config.vocab_size, len(bundle.vocab)) == (52, 52)
    before = model.encoder.embeddings.word_embeddings.numpy()
    after = bundle.encoder.embeddings.word_embeddings.numpy()
    np.testing.assert_array_equal(after[:50], before)
    for row in after[50:]:
        # The mean of the others, and noise with the initializer's deviation 0.3.
        assert 0.1 < np.abs(row - before.mean(axis=0)).mean() < 0.5
    assert np.abs(after[50] - after[51]).max() > 0.1
    np.testing.assert_array_equal(
        bundle.pretrainer.masked_lm.output_bias, [*np.arange(50.0), 24.5, 24.5]
    )
    again = load_pretrained(folder, vocab_file=path)
    np.testing.assert_array_equal(again.encoder.embeddings.word_embeddings, after)


def test_another_order_takes_the_rows_along(model, folder, tmp_path):
    tokens = [*OLD.tokens[:5], *reversed(OLD.tokens[10:])]
    path = tmp_path / "new.txt"
    Vocab(tokens).save(path)
    bundle = load_pretrained(folder, vocab_file=path)
    before = model.encoder.embeddings.word_embeddings.numpy()
    after = bundle.encoder.embeddings.word_embeddings.numpy()
    np.testing.assert_array_equal(after, np.concatenate([before[:5], before[:9:-1]]))


def test_more_rows_than_tokens_are_cut_on_request(folder, tmp_path):
    """Published checkpoints with a padded table: the vocabulary's own file says so."""
    path = folder / "vocab.txt"
    path.write_text("\n".join(OLD.tokens[:48]) + "\n")
    with pytest.raises(InputError, match="50 word embeddings and a vocabulary of 48"):
        load_pretrained(folder)
    assert load_pretrained(folder, vocab_file=path).config.vocab_size == 48


def test_positions_repeat_the_table(model, folder):
    bundle = load_pretrained(folder, max_position_embeddings=60)
    before = model.encoder.embeddings.position_embeddings.numpy()
    after = bundle.encoder.embeddings.position_embeddings.numpy()
    assert bundle.config.max_position_embeddings == 60
    np.testing.assert_array_equal(after, np.concatenate([before, before, before[:12]]))
    assert load_pretrained(folder, max_position_embeddings=10).config.max_position_embeddings == 10


def test_without_a_vocabulary_nobody_knows_the_rows(tmp_path):
    bundle = bundle_of(BertEncoder(TINY), "encoder")
    write_pretrained(bundle, tmp_path / "model", "official_bert")
    path = tmp_path / "model" / "vocab.txt"
    path.rename(tmp_path / "vocab.txt")
    with pytest.raises(InputError, match="has no vocabulary: nobody knows which row is which"):
        load_pretrained(tmp_path / "model", vocab_file=tmp_path / "vocab.txt")
