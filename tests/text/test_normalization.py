from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as text

from official_bert.text import normalization
from official_bert.text.normalizer import Normalizer
from official_bert.text.normalizer_model import build_normalizer_model
from tests.text.comparison import all_code_points


def test_the_map_has_every_code_point_that_changes():
    changed = {
        char
        for char in all_code_points()
        if normalization.normalize_char(char, lower_case=True, strip_accents=True) != char
    }
    mapping = normalization.normalization_map(lower_case=True, strip_accents=True, split_cjk=True)
    assert changed == mapping.keys()
    assert mapping["\0"] == mapping["\u0301"] == mapping["\ufffd"] == ""
    assert (mapping["É"], mapping["\u3000"], mapping["\n"]) == ("e", " ", " ")
    assert mapping["가"] == "\u1100\u1161"
    assert "x" not in mapping and " " not in mapping and "\ue000" not in mapping


def test_a_map_in_the_form_of_the_op():
    longest = "é" * 31 + "x"  # 63 bytes
    mapping = {"\0": "", "a": "xyz", "é": "", "漢": "b", "\U00020000": longest, "\x7f": "\x7e"}
    op = text.FastBertNormalizer(
        model_buffer=tf.constant(np.frombuffer(build_normalizer_model(mapping), np.uint8))
    )
    normalized, sources = op.normalize_with_offsets(["Aaé漢\0b\U00020000\x7fê", "b", ""])
    assert normalized.numpy().tolist() == [f"Axyzbb{longest}\x7eê".encode(), b"b", b""]
    assert sources[0].numpy().tolist() == [0, 1, 1, 1, 4, 8, *[9] * 63, 13, 14, 15, 16]
    with pytest.raises(ValueError, match="longer than the format can hold"):
        build_normalizer_model({"\0": "", "a": longest + "x"})


def test_lower_case_knows_the_final_sigma():
    normalizer = Normalizer(lower_case=True, strip_accents=False, split_cjk=True)
    choose = random.Random(0)
    letters = "ΣΣΣΣaΑςʰͅ.'·\u0301\u00ad\u200d-:1 漢ǅªⅷ\U00010400\U000e0041"
    strings = ["".join(choose.choices(letters, k=choose.randint(1, 8))) for _ in range(20_000)]
    expected = [
        "".join(c for c in string if unicodedata.category(c) != "Cf").lower() for string in strings
    ]
    found = [string.decode() for string in normalizer.normalize(tf.constant(strings)).numpy()]
    assert found == expected


def test_stand_ins_for_cjk_are_one_for_one():
    cjk = [chr(c) for first, last in normalization.CJK_RANGES for c in range(first, last + 1)]
    stand_ins = {normalization.cjk_stand_in(char) for char in cjk}
    assert len(stand_ins) == len(cjk) == 81_520
    assert all(map(normalization.is_cjk_stand_in, stand_ins))
    assert normalization.cjk_stand_in("가") == "가"
