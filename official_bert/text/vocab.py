"""The vocabulary: token <-> id, the five special tokens, and what is odd in the file."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence

from official_bert.atomic import atomic_file
from official_bert.errors import InputError
from official_bert.regular_file import read_bytes

# Named as in a Hugging Face tokenizer_config.json.
SPECIAL_TOKENS: Mapping[str, str] = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# The vocabulary of LaBSE, the largest one known, has 500,000 tokens and 5 MB.
_MAX_BYTES = 16 << 20
_MAX_TOKENS = 1_000_000
_UNUSED = re.compile(r"\[unused\d+\]")


class Vocab:
    """The tokens of a vocab.txt; the id of a token is its line number, from 0.

    Lines end at "\\n" only (the published Chinese vocabulary has U+2028 in a line of its own), and
    each is stripped of surrounding whitespace, as google-research/bert's `load_vocab` does. A token
    that is on several lines has the id of the last one, as there. Blank and repeated lines keep
    their ids, are never an output of the tokenizer, and are listed in `warnings`.

        vocab = Vocab.from_file("vocab.txt")
        vocab.tokens[:2]      # ("[PAD]", "[unused0]")
        vocab.id_of("the")    # 1996

    Attributes:
      tokens: one entry a line.
      special_tokens: the five tokens by their roles ("pad_token": "[PAD]", ...).
      pad_id, unk_id, cls_id, sep_id, mask_id: their ids.
      special_ids: the five ids.
      unused_ids: the ids of the [unusedN] entries.
      warnings: a line for each blank or repeated entry, with its line number.
      sha256: of the bytes that `save` writes, which are those that `from_file` read.
    """

    def __init__(
        self,
        tokens: Iterable[str],
        special_tokens: Mapping[str, str] | None = None,
        *,
        name: str = "vocabulary",
    ) -> None:
        """Makes a vocabulary of `tokens`.

        Args:
          tokens: in id order; surrounding whitespace is stripped.
          special_tokens: other names for some of `SPECIAL_TOKENS`, for example
            {"unk_token": "<unk>"}.
          name: how messages call it.

        Raises:
          InputError: one of the five special tokens is missing; a token has a line break in it.
        """
        lines = list(tokens)
        for number, line in enumerate(lines, start=1):
            if "\n" in line:
                raise InputError(f"{name}, line {number}: {line!r} has a line break in it")
        self._load("".join(f"{line}\n" for line in lines).encode(), special_tokens, name)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], special_tokens: Mapping[str, str] | None = None
    ) -> Vocab:
        """Reads a vocab.txt.

        Args:
          path: UTF-8, one token a line.
          special_tokens: as for the constructor.

        Raises:
          InputError: no such file; not UTF-8; one of the five special tokens is missing.
        """
        content = read_bytes(path, limit=_MAX_BYTES)
        vocab = cls.__new__(cls)
        vocab._load(content, special_tokens, str(path))
        return vocab

    def _load(self, content: bytes, special_tokens: Mapping[str, str] | None, name: str) -> None:
        self._content = content
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.tokens = _split(content, name)
        self._ids = {token: id_ for id_, token in enumerate(self.tokens)}
        self.warnings = tuple(_oddities(self.tokens, self._ids, name))
        self.special_tokens = {**SPECIAL_TOKENS, **(special_tokens or {})}
        missing = [t for t in self.special_tokens.values() if t not in self._ids]
        if missing:
            hint = "add them, or give the vocabulary that the checkpoint was trained with"
            if content.startswith(b"\xef\xbb\xbf"):
                hint = "the file starts with a byte order mark, which makes line 1 another token"
            raise InputError(f"{name}: the vocabulary lacks {', '.join(missing)}: {hint}")
        self.pad_id = self._ids[self.special_tokens["pad_token"]]
        self.unk_id = self._ids[self.special_tokens["unk_token"]]
        self.cls_id = self._ids[self.special_tokens["cls_token"]]
        self.sep_id = self._ids[self.special_tokens["sep_token"]]
        self.mask_id = self._ids[self.special_tokens["mask_token"]]
        self.special_ids = frozenset(
            (self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id)
        )
        self.unused_ids = frozenset(
            id_ for token, id_ in self._ids.items() if _UNUSED.fullmatch(token)
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocab):
            return NotImplemented
        return (self.sha256, self.special_tokens) == (other.sha256, other.special_tokens)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def id_of(self, token: str) -> int:
        """The id of `token`.

        Raises:
          InputError: the vocabulary does not have it.
        """
        try:
            return self._ids[token]
        except KeyError:
            raise InputError(f"the vocabulary has no token {token!r}") from None

    def with_added_tokens(self, tokens: Sequence[str]) -> Vocab:
        """This vocabulary with `tokens` at its end; those that it has already keep their ids.

        Raises:
          InputError: a token is empty, has whitespace around it, or a line break in it: a line of
            vocab.txt cannot hold it.
        """
        for token in tokens:
            if not token or token != token.strip() or "\n" in token:
                raise InputError(
                    f"added token {token!r}: it must not be empty, start or end with whitespace, "
                    "or have a line break in it"
                )
        new = [token for token in dict.fromkeys(tokens) if token not in self._ids]
        if not new:
            return self
        content = self._content
        if content and not content.endswith(b"\n"):
            content += b"\n"
        vocab = Vocab.__new__(Vocab)
        vocab._load(
            content + "".join(f"{token}\n" for token in new).encode(),
            self.special_tokens,
            "vocabulary",
        )
        return vocab

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the vocabulary to `path`, byte for byte as it was read."""
        with atomic_file(path, "wb") as file:
            file.write(self._content)


def _split(content: bytes, name: str) -> tuple[str, ...]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()  # what follows the last line end is not a line
    if len(lines) > _MAX_TOKENS:
        raise InputError(f"{name} has {len(lines)} lines; a vocabulary has {_MAX_TOKENS} at most")
    tokens = []
    for number, line in enumerate(lines, start=1):
        try:
            tokens.append(line.decode("utf-8").strip())
        except UnicodeDecodeError:
            raise InputError(
                f"{name}, line {number}: {line!r} is not UTF-8: save the file as UTF-8"
            ) from None
    return tuple(tokens)


def _oddities(tokens: Sequence[str], ids: Mapping[str, int], name: str) -> Iterable[str]:
    for id_, token in enumerate(tokens):
        if not token:
            yield f"{name}, line {id_ + 1}: blank; its id {id_} is never used"
        elif ids[token] != id_:
            last = ids[token]
            yield (
                f"{name}, line {id_ + 1}: {token!r} stands again on line {last + 1}; "
                f"the tokenizer answers {last}, never {id_}"
            )
