"""The sizes in configs/encoders, against published parameter counts."""

import math

import pytest
import tensorflow as tf
import yaml

from official_bert import BertConfig, BertEncoder
from official_bert.checkpoints.heads import HEADS
from official_bert.checkpoints.source import expected_shapes
from tests.public_data import ROOT

FOLDER = ROOT / "configs" / "encoders"
# That of the published uncased models, for their parameter counts.
VOCAB_SIZE = 30522


def preset(name: str) -> tuple[BertConfig, str]:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    fields = yaml.safe_load(text)
    assert list(fields) == ["model"] and list(fields["model"]) == ["encoder"]
    assert "vocab_size" not in fields["model"]["encoder"]
    return BertConfig.from_dict({"vocab_size": VOCAB_SIZE, **fields["model"]["encoder"]}), text


def parameters(config: BertConfig, kind: str = "encoder") -> int:
    shapes = expected_shapes(config, HEADS[kind].parts, None)
    return sum(math.prod(shape) for shape in shapes.values())


# Millions with both pretraining heads: Turc et al. 2019, table 1; 12/768 is BERT-Base.
MINIATURES = {
    128: (4.4, 4.8, 5.2, 5.6, 6.0, 6.4),
    256: (9.7, 11.3, 12.8, 14.4, 16.0, 17.6),
    512: (22.8, 29.1, 35.4, 41.7, 48.0, 54.3),
    768: (39.2, 53.4, 67.5, 81.7, 95.9, 110.1),
}


@pytest.mark.parametrize("width", MINIATURES)
def test_the_24_miniatures(width):
    for layers, millions in zip((2, 4, 6, 8, 10, 12), MINIATURES[width], strict=True):
        name = f"L-{layers}_H-{width}_A-{width // 64}" if (layers, width) != (12, 768) else "base"
        config, _ = preset(name)
        assert (config.num_hidden_layers, config.hidden_size) == (layers, width)
        assert config.num_attention_heads == width // 64
        assert abs(parameters(config, "pretrainer") / 1e6 - millions) < 0.1


@pytest.mark.parametrize(
    ("name", "sizes", "published"),
    [
        ("base", (12, 768, 12), 109_482_240),
        ("large", (24, 1024, 16), 335_141_888),
        ("L-3_H-768_A-12", (3, 768, 12), None),
        ("L-6_H-768_A-3", (6, 768, 3), None),
        ("L-6_H-768_A-12", (6, 768, 12), None),
        ("L-12_H-1024_A-16", (12, 1024, 16), None),
        ("L-2_H-128_A-2", (2, 128, 2), 4_385_920),
    ],
)
def test_published_sizes(name, sizes, published):
    config, _ = preset(name)
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == sizes
    if published is not None:
        with tf.Graph().as_default():  # variables without memory
            variables = BertEncoder(config).variables
        assert sum(variable.shape.num_elements() for variable in variables) == published


def test_every_preset_says_its_number_and_is_four_times_as_wide_inside():
    paths = sorted(FOLDER.glob("*.yaml"))
    assert len(paths) == 28
    for path in paths:
        config, text = preset(path.stem)
        assert f"# {parameters(config):,} parameters" in text
        assert config.intermediate_size == 4 * config.hidden_size
