"""Strings that nobody would write and a server gets all the same."""

from __future__ import annotations

import numpy as np

NAMED = [
    b"",
    b" \t\r\n\x0b\x0c",
    b"\0" * 1000,
    b"\xff\xfe\xfd" * 1000,
    b"\xed\xa0\x80",  # a surrogate
    b"\xf4\x90\x80\x80",  # above U+10FFFF
    b"\xc0\xaf",  # overlong
    b"\xe4\xb8",  # cut off
    ("a" + "\u0301" * 100).encode(),
    "\u202emirror \u2066isolate\u2069 שלום عالم".encode(),
    "\ufeff\u200b\u200d\u2028\u2029\u00a0\u3000".encode(),
    "👩‍👩‍👧‍👦🏳️‍🌈🇫🇷".encode() * 50,
    "ß\u0130\u0131ΣΑΣ ﬁ ½ ²".encode(),
    b"[MASK]" * 3000,
    b"[CLS] [SEP] [PAD] [UNK] [unused1] [MASK",
    b"##the ##ian #",
    b"a" * 1_000_000,
    b"the " * 250_000,
    "中".encode() * 333_000,
    b"%s%n${x}<script>\"'\\",
]


def random_strings(count: int, seed: int) -> list[bytes]:
    """Random bytes, random code points, and words with noise among them."""
    rng = np.random.default_rng(seed)
    strings = []
    for number in range(count):
        length = int(rng.integers(0, 120))
        kind = number % 3
        if kind == 0:
            strings.append(rng.bytes(length))
        elif kind == 1:
            codes = rng.integers(0, 0x110000, length)
            strings.append("".join(map(chr, codes)).encode("utf-8", "surrogatepass"))
        else:
            words = rng.choice([b"the", b"of", b"[MASK]", b"paris", b"w1", rng.bytes(3)], length)
            strings.append(b" ".join(words.tolist()))
    return strings
