"""The tables against the models: every variable has a name in every format, and its shape."""

import numpy as np
import pytest

from official_bert import (
    BertClassifier,
    BertEncoder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
)
from official_bert.checkpoints import name_maps
from official_bert.checkpoints.heads import HEADS
from official_bert.checkpoints.source import expand, expected_shapes
from official_bert.checkpoints.variables import named_variables
from tests.small_models import TINY

FACTORISED = TINY.replace(embedding_size=8, share_layers=True, use_pooler=False)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (lambda: BertEncoder(TINY), "encoder"),
        (lambda: BertEncoder(FACTORISED), "encoder"),
        (lambda: BertEncoder(TINY.replace(bilstm=True)), "encoder"),
        (lambda: BertPretrainer(TINY), "pretrainer"),
        (lambda: BertPretrainer(FACTORISED), "pretrainer"),
        (lambda: BertClassifier(BertEncoder(TINY, name="own"), 3, name="mine"), "classifier"),
        (lambda: BertTokenClassifier(TINY, 3), "token_classifier"),
        (lambda: BertMultipleChoice(TINY), "multiple_choice"),
        (lambda: BertSpanLabeler(TINY), "span_labeler"),
    ],
)
def test_our_names_and_shapes_are_those_of_the_variables(model, kind):
    model = model()
    variables = named_variables(model)
    assert {name: tuple(variable.shape) for name, variable in variables.items()} == (
        expected_shapes(model.config, HEADS[kind].parts_in(variables), 3)
    )


@pytest.mark.parametrize("name", ["HUGGINGFACE", "GOOGLE", "MODEL_GARDEN", "MODEL_GARDEN_PATHS"])
def test_a_map_gives_each_variable_another_name(name):
    names = expand(getattr(name_maps, name), TINY)
    assert len(set(names.values())) == len(names)
    assert set(expected_shapes(TINY, HEADS["pretrainer"].parts, None)) <= set(names)


def test_names_of_layers():
    names = expand(name_maps.HUGGINGFACE, TINY)
    assert names["encoder/layer_1/attention/query/kernel"] == (
        "bert.encoder.layer.1.attention.self.query.weight"
    )
    assert "encoder/layer_2/attention/query/kernel" not in names
    assert np.unique(list(expand(name_maps.GOOGLE, TINY.replace(share_layers=True)))).size < len(
        names
    )
