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
        ("vocab_size", 0, "vocab_size is 0: it must be at least 1 and at most 10,000,000"),
        ("vocab_size", None, "vocab_size is None: it must be a whole number"),
        ("vocab_size", [7], r"vocab_size is \[7\]: it must be a whole number"),
        ("hidden_size", 768.0, "hidden_size is 768.0: it must be a whole number"),
        ("hidden_size", 10**9, "hidden_size is 1000000000: it must be .* at most 65,536"),
        ("num_hidden_layers", True, "num_hidden_layers is True: it must be a whole number"),
        ("num_hidden_layers", 10**6, "num_hidden_layers is 1000000: it must be .* at most 1,000"),
        ("intermediate_size", 10**7, "intermediate_size is 10000000: .* at most 1,000,000"),
        ("max_position_embeddings", 10**7, "max_position_embeddings is 10000000: it must be "),
        ("type_vocab_size", 10**5, "type_vocab_size is 100000: it must be .* at most 10,000"),
        ("embedding_size", -1, "embedding_size is -1: it must be at least 1 and at most 65,536"),
        ("embedding_size", "16", "embedding_size is '16': it must be a whole number"),
        (
            "num_attention_heads",
            7,
            "hidden_size is 768: it must be a multiple of num_attention_heads, which is 7",
        ),
        ("hidden_act", "swish", "hidden_act is 'swish': it must be gelu, gelu_tanh, relu or tanh"),
        ("hidden_act", ["gelu"], r"hidden_act is \['gelu'\]: it must be text"),
        (
            "hidden_dropout_prob",
            1.0,
            "hidden_dropout_prob is 1.0: it must be at least 0 and below 1",
        ),
        ("attention_probs_dropout_prob", -0.1, "attention_probs_dropout_prob is -0.1: it must be "),
        ("layer_norm_eps", "1e-12", "layer_norm_eps is '1e-12': it must be a number"),
        ("layer_norm_eps", False, "layer_norm_eps is False: it must be a number"),
        ("initializer_range", float("nan"), "initializer_range is nan: it must be a finite number"),
        ("initializer_range", 10**400, "initializer_range is inf: it must be a finite number"),
        ("attention", "left", "attention is 'left': it must be bidirectional or causal"),
        ("bilstm", 1, "bilstm is 1: it must be true or false"),
        ("use_pooler", "no", "use_pooler is 'no': it must be true or false"),
    ],
)
def test_a_wrong_value_is_an_error_with_the_field(field, value, message):
    with pytest.raises(InputError, match="^" + message) as error:
        BertConfig(**{field: value})
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_a_number_that_python_does_not_write():
    with pytest.raises(InputError, match="hidden_size is <int>: it must be at least 1 and at most"):
        BertConfig(hidden_size=10**5000)


def test_more_weights_than_any_machine_holds():
    with pytest.raises(
        InputError, match=r"make 2,434,\d{3},\d{3},\d{3} weights, above 100,000,000,000"
    ):
        BertConfig(
            vocab_size=10**7, hidden_size=65_536, num_attention_heads=16, intermediate_size=10**6
        )
    # Megatron-BERT, the largest that was published, has 3.9 billion.
    BertConfig(
        num_hidden_layers=48, hidden_size=2560, num_attention_heads=40, intermediate_size=10_240
    )
    shared = BertConfig(
        num_hidden_layers=1000, hidden_size=8192, num_attention_heads=64, share_layers=True
    )
    assert shared.num_hidden_layers == 1000


def test_a_bilstm_halves_the_width():
    assert BertConfig(hidden_size=6, num_attention_heads=1, bilstm=True).bilstm
    with pytest.raises(InputError, match="hidden_size is 5: it must be even with bilstm"):
        BertConfig(hidden_size=5, num_attention_heads=1, bilstm=True)


def test_an_unknown_field_names_the_nearest():
    with pytest.raises(
        InputError, match=r"unknown key num_layers; did you mean num_hidden_layers\?"
    ):
        BertConfig.from_dict({"num_layers": 2})


SHAPE = {
    "vocab_size": 7,
    "hidden_size": 8,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}


@pytest.mark.parametrize("missing", SHAPE)
def test_a_size_that_is_missing_in_a_checkpoints_config_is_named(missing, tmp_path):
    path = tmp_path / "bert_config.json"
    given = {name: value for name, value in SHAPE.items() if name != missing}
    path.write_text(json.dumps(given))
    with pytest.raises(InputError, match=f"bert_config.json has no {missing}: it is not the"):
        BertConfig.from_json_file(path)
    if missing != "vocab_size":
        with pytest.raises(InputError, match=f"^{missing} is missing: it belongs to the shape"):
            BertConfig.from_dict(given)


def test_without_any_size_the_layers_are_those_of_bert_base():
    assert BertConfig.from_dict({"vocab_size": 7}) == BertConfig(vocab_size=7)


def test_reads_the_multilingual_release_and_reports_unknown_keys(tmp_path, caplog):
    path = tmp_path / "bert_config.json"
    path.write_text(
        json.dumps({**SHAPE, "directionality": "bidi", "pooler_fc_size": 768, "color": 1})
    )
    with caplog.at_level("WARNING", logger="absl"):
        assert BertConfig.from_json_file(path) == BertConfig(**SHAPE)
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
        (json.dumps({**SHAPE, "vocab_size": -4}), "bert_config.json: vocab_size is -4: it must be"),
    ],
)
def test_a_bad_file_is_an_error_with_its_name(tmp_path, text, message):
    path = tmp_path / "bert_config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message):
        BertConfig.from_json_file(path)
