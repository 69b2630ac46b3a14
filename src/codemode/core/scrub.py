"""
Removes secrets from what goes back to a script, a log or an audit file.

A secret is looked for raw and in the forms that services echo it in:

- reversed; in either case;
- base64 (standard and URL-safe, at each of the three alignments it can have inside
  longer data, once or twice over, with line breaks anywhere) and base32 (either case,
  line breaks), so also as ``user:secret`` of basic authentication;
- hexadecimal in either case, with colons, dashes, spaces, commas, ``0x`` or ``\\x``
  between any of its bytes;
- percent-encoded, JSON-escaped (``\\uXXXX`` for any characters) and HTML-escaped (named
  and numeric), up to three layers of these, and so for its base64 too;
- UTF-16; inside gzip and zlib data, itself plain or in base64.

Not found: other encodings, a secret cut into pieces or mixed with other characters,
base64 of its upper or lower case, packed data in hexadecimal or packed twice, and, in
files alone, packed data beyond `MAX_UNPACKED_BYTES`.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

from codemode.core.disguise import MIN_CHARS, Forms

__all__ = ["MARK", "MAX_TOKENS", "MAX_UNPACKED_BYTES", "MIN_CHARS", "Scrubber"]

MARK = "[secret removed]"

MAX_UNPACKED_BYTES = 4 * 1024 * 1024
"""How far packed data is looked into: all of one text, value or file together."""

MAX_TOKENS = 64
"""How many pieces of packed data are looked into, likewise. Those beyond are removed."""

_PACKED = frozenset({b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"})
_PACKED_MARKS = ("H4sI", "eJ", "eA", "eN", "eF")
"""How base64 of gzip and zlib data begins."""
_PACKED_TEXT = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:{'|'.join(_PACKED_MARKS)})[A-Za-z0-9+/_-]{{16,}}+"
    r"(?:(?:\r?\n|\\r\\n|\\n)[A-Za-z0-9+/_-]++(?![ \t.,;:'!?()]))*+={0,2}"
)
_BETWEEN = re.compile(r"\s|\\[rn]")
_SEPARATOR = "\x1f"
"""Between the strings of a value when they are searched as one; part of no form."""


class Scrubber:
    """
    Replaces known secrets. Immutable; `|` joins two.

    Args:
        secrets: Raw and rendered values. Empty ones are ignored.
    """

    __slots__ = ("_data_made", "_forms_made", "_secrets")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secret for secret in secrets if secret)
        self._forms_made: Forms | None = None
        self._data_made: tuple[frozenset[bytes], frozenset[bytes]] | None = None

    @property
    def _forms(self) -> Forms:
        # Made on first use: most scrubbers are joined to one that has the secret already.
        if self._forms_made is None:
            self._forms_made = Forms.of(self._secrets)
        return self._forms_made

    @property
    def _data(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """The forms as bytes, in UTF-8 and in UTF-16."""
        if self._data_made is None:
            bare = self._forms.bare()
            narrow = frozenset(form.encode("utf-8", "surrogatepass") for form in bare)
            wide = frozenset(
                form.encode(f"utf-16-{end}", "surrogatepass")
                for form in bare
                for end in ("le", "be")
            )
            self._data_made = narrow, wide
        return self._data_made

    def __or__(self, other: Scrubber) -> Scrubber:
        if other._secrets <= self._secrets:
            return self
        return Scrubber(self._secrets | other._secrets)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def __repr__(self) -> str:
        return f"Scrubber(<{len(self._secrets)} secrets>)"

    def text(self, text: str) -> str:
        """*text* without secrets."""
        plan = self._plan(text)
        return text if plan is None else plan.text(text)

    def value(self, value: Any) -> Any:
        """
        A JSON value without secrets: strings, and the keys of objects.

        Its strings are searched as one; each is looked at by itself only if that
        finds something, and then for that alone.
        """
        if not self._secrets:
            return value
        strings: list[str] = []
        files: list[bytes] = []
        _collect(value, strings, files, numbers=self._forms.is_numeric)
        plan = self._plan(_SEPARATOR.join(strings))
        if plan is None and all(self.data(data) is data for data in files):
            return value
        return self._without(value, plan or _Plan([], frozenset()))

    def data(self, data: bytes) -> bytes:
        """*data* without secrets, in UTF-8 and UTF-16 forms. Short secrets are left."""
        if not self._secrets:
            return data
        budget = _Budget()
        if data[:2] in _PACKED and self._in_packed(data, budget):
            return MARK.encode()
        narrow, wide = self._data
        found = [re.escape(form) for form in narrow if not form.isascii() and form in data]
        if b"\0" in data:
            found += [re.escape(form) for form in wide if form in data]
        if found:
            found.sort(key=lambda part: (-len(part), part))
            data = re.sub(b"|".join(found), MARK.encode(), data)
        text = data.decode("latin-1")
        plan = self._plan(text, lone=False)
        return data if plan is None else plan.text(text).encode("latin-1")

    def _plan(self, text: str, *, lone: bool = True) -> _Plan | None:
        """What there is to remove from *text*, or None."""
        if not self._secrets:
            return None
        patterns = self._forms.patterns(text)
        if not lone:
            patterns = [pattern for pattern in patterns if not pattern.startswith(r"(?<!\w)")]
        tokens = frozenset(self._packed_tokens(text))
        return _Plan(patterns, tokens) if patterns or tokens else None

    def _packed_tokens(self, text: str) -> Iterator[str]:
        """
        Base64 of packed data with a secret inside; also what there was no budget to look into.
        """
        if len(text) <= 20 or not any(mark in text for mark in _PACKED_MARKS):
            return
        budget = _Budget()
        seen: set[str] = set()
        for found in _PACKED_TEXT.finditer(text):
            token = found[0]
            if token in seen:
                continue
            seen.add(token)
            plain = _BETWEEN.sub("", token).replace("-", "+").replace("_", "/").rstrip("=")
            try:
                data = b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "==")
            except ValueError:
                continue
            if _is_packed(data) and (self._in_packed(data, budget) or budget.is_spent):
                yield token

    def _in_packed(self, data: bytes, budget: _Budget) -> bool:
        plain = budget.unpack(data)
        narrow, wide = self._data
        if any(form in plain for form in narrow):
            return True
        return b"\0" in plain and any(form in plain for form in wide)

    def _without(self, value: Any, plan: _Plan) -> Any:
        if isinstance(value, str):
            return plan.text(value)
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, dict):
            return {plan.text(key): self._without(item, plan) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._without(item, plan) for item in value]
        if self._forms.is_numeric and isinstance(value, int | float) and value is not True:
            # A numeric secret (a PIN, an account id) would otherwise pass as a number.
            text = _number(value)
            return value if plan.text(text) == text else MARK
        return value


class _Plan:
    """
    What was found in a text, to be removed from all its parts.

    Args:
        patterns: Regular expressions, in the order they are tried.
        tokens: Base64 texts that are removed whole.
    """

    __slots__ = ("_found", "_tokens")

    def __init__(self, patterns: list[str], tokens: frozenset[str]) -> None:
        self._found = re.compile("|".join(patterns)) if patterns else None
        self._tokens = tokens

    def text(self, text: str) -> str:
        if self._tokens:
            text = _PACKED_TEXT.sub(
                lambda found: MARK if found[0] in self._tokens else found[0], text
            )
        return text if self._found is None else self._found.sub(MARK, text)


class _Budget:
    """What is left for unpacking in one text, value or file."""

    __slots__ = ("_bytes", "_tokens", "is_spent")

    def __init__(self) -> None:
        self._bytes, self._tokens = MAX_UNPACKED_BYTES, MAX_TOKENS
        self.is_spent = False

    def unpack(self, data: bytes) -> bytes:
        """The plain data, as far as the budget goes; b"" if it is not packed."""
        if self._tokens <= 0 or self._bytes <= 0:
            self.is_spent = True
            return b""
        self._tokens -= 1
        stream = zlib.decompressobj(47)
        try:
            plain = stream.decompress(data, self._bytes)
        except zlib.error:
            return b""
        self._bytes -= len(plain)
        # Cut off by the budget, not by its own end: the rest was not looked at.
        self.is_spent = bool(stream.unconsumed_tail) and not stream.eof
        return plain


def _is_packed(data: bytes) -> bool:
    """Whether *data* begins like gzip or zlib; random base64 rarely does."""
    if data[:3] == b"\x1f\x8b\x08":
        return True
    return len(data) > 2 and data[0] == 0x78 and int.from_bytes(data[:2], "big") % 31 == 0


def _collect(value: Any, strings: list[str], files: list[bytes], *, numbers: bool) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            strings.append(item)
        elif isinstance(item, dict):
            strings.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, bytes):
            files.append(item)
        elif numbers and isinstance(item, int | float):
            strings.append(_number(item))


def _number(value: float) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python writes; no secret is that long
        return ""
