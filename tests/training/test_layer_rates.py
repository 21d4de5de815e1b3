"""Which layers learn, and how fast."""

import pytest

from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.models.classifier import BertClassifier
from official_bert.training.layer_rates import freeze_layers, layer_rate_shares


@pytest.fixture(params=[False, True], ids=["plain", "bilstm"])
def model(request):
    config = BertConfig(
        vocab_size=10,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=8,
        bilstm=request.param,
    )
    return BertClassifier(config, 2)


def _layer(variable):
    return variable.name.split("/")[1]


def test_lower_layers_learn_more_slowly(model):
    shares = {_layer(variable): share for variable, share in layer_rate_shares(model.encoder, 0.5)}
    assert shares == {"embeddings": 0.125, "layer_0": 0.25, "layer_1": 0.5}


def test_frozen_layers_have_nothing_to_train(model):
    freeze_layers(model.encoder, 1)
    top = {"pooler", "classifier"} | ({"bilstm"} if model.config.bilstm else set())
    assert {_layer(v) for v in model.trainable_variables} == {"layer_1", *top}


def test_more_layers_than_there_are(model):
    with pytest.raises(InputError, match="model.frozen_layers is 3: the encoder has 2"):
        freeze_layers(model.encoder, 3)
