import json

import pytest

from official_bert.config import BertConfig
from official_bert.errors import InputError


def test_defaults_are_bert_base_uncased():
    config = BertConfig()
    assert (config.vocab_size, config.hidden_size, config.num_hidden_layers) == (30522, 768, 12)
    assert (config.num_attention_heads, config.intermediate_size) == (12, 3072)
    assert config.layer_norm_eps == 1e-12
    assert config.embedding_width == 768
    assert config.replace(embedding_size=128).embedding_width == 128


def test_json_round_trip(tmp_path):
    config = BertConfig(vocab_size=99, hidden_act="gelu_tanh", embedding_size=16, share_layers=True)
    path = tmp_path / "bert_config.json"
    path.write_text(config.to_json())
    assert BertConfig.from_json_file(path) == config
    assert json.loads(config.to_json())["hidden_act"] == "gelu_tanh"
    assert "embedding_size" not in BertConfig().to_dict()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("vocab_size", 0, "vocab_size must be a whole number of at least 1, got 0"),
        ("hidden_size", 768.0, "hidden_size must be a whole number of at least 1, got 768.0"),
        ("num_hidden_layers", True, "num_hidden_layers must be a whole number"),
        ("embedding_size", -1, "embedding_size must be a whole number of at least 1, got -1"),
        (
            "num_attention_heads",
            7,
            "hidden_size must be a multiple of num_attention_heads, got 768 ",
        ),
        (
            "hidden_act",
            "swish",
            "hidden_act must be one of gelu, gelu_tanh, relu, tanh, got 'swish'",
        ),
        ("hidden_dropout_prob", 1.0, "hidden_dropout_prob must be at least 0 and below 1, got 1.0"),
        ("attention_probs_dropout_prob", -0.1, "attention_probs_dropout_prob must be at least 0"),
        ("layer_norm_eps", "1e-12", "layer_norm_eps must be a number, got '1e-12'"),
        ("initializer_range", float("nan"), "initializer_range must be a number, got nan"),
        ("attention", "left", "attention must be one of bidirectional, causal, got 'left'"),
        ("bilstm", 1, "bilstm must be true or false, got 1"),
        ("use_pooler", "no", "use_pooler must be true or false, got 'no'"),
    ],
)
def test_a_wrong_value_is_an_error_with_the_field(field, value, message):
    with pytest.raises(InputError, match="^" + message):
        BertConfig(**{field: value})


def test_a_bilstm_halves_the_width():
    assert BertConfig(hidden_size=6, num_attention_heads=1, bilstm=True).bilstm
    with pytest.raises(InputError, match="hidden_size must be even with bilstm, got 5"):
        BertConfig(hidden_size=5, num_attention_heads=1, bilstm=True)


def test_an_unknown_field_names_the_nearest():
    with pytest.raises(InputError, match="'num_layers'.*did you mean 'num_hidden_layers'"):
        BertConfig.from_dict({"num_layers": 2})


def test_reads_the_multilingual_release_and_reports_unknown_keys(tmp_path, caplog):
    path = tmp_path / "bert_config.json"
    path.write_text(
        '{"vocab_size": 7, "directionality": "bidi", "pooler_fc_size": 768, "color": 1}'
    )
    with caplog.at_level("WARNING", logger="absl"):
        assert BertConfig.from_json_file(path) == BertConfig(vocab_size=7)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: unknown keys without effect: color"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read .*bert_config.json: No such file"),
        ("{", "is not a JSON file"),
        ("[1]", "must hold a JSON object, got list"),
        ('{"hidden_size": 4}', "has no vocab_size"),
        ('{"vocab_size": -4}', "bert_config.json: vocab_size must be a whole number"),
    ],
)
def test_a_bad_file_is_an_error_with_its_name(tmp_path, text, message):
    path = tmp_path / "bert_config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message):
        BertConfig.from_json_file(path)
