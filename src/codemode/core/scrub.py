"""
Removes secrets from what goes back to a script, a log or an audit file.

A secret is looked for raw and in the forms that services echo it in: base64
(standard and URL-safe, at each of the three alignments it can have inside longer
data), hexadecimal, percent-encoded, JSON-escaped, HTML-escaped, reversed, UTF-16,
and inside gzip and zlib data, itself plain or in base64.
"""

from __future__ import annotations

import html
import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

MARK = "[secret removed]"
MIN_CHARS = 6
"""Shorter secrets are only removed where they stand alone: they occur in ordinary words."""


MAX_UNPACKED_BYTES = 4 * 1024 * 1024
"""How far packed data is looked into."""

_PACKED = frozenset({b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"})
_PACKED_MARKS = ("H4sI", "eJ", "eA", "eN", "eF")
"""How base64 of gzip and zlib data begins."""
_PACKED_TEXT = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:{'|'.join(_PACKED_MARKS)})[A-Za-z0-9+/_-]{{16,}}={{0,2}}"
)
_EITHER_CASE = re.compile(r"[0-9a-f]+([: ][0-9a-f]+)*|(%[0-9a-f]{2})+", re.IGNORECASE)
_ESCAPE = re.compile(r"%[0-9A-F]{2}")


def _base64_cores(data: bytes) -> Iterator[str]:
    """
    The characters of *data*'s base64 that do not depend on its neighbours.

    Inside longer data the first and last character may mix with other bytes;
    what is left is the same wherever the data stands.
    """
    for offset in range(3):
        encoded = b64encode(b"\0" * offset + data).decode().rstrip("=")
        start = (0, 2, 3)[offset]
        end = (offset + len(data)) * 8 // 6
        core = encoded[start:end]
        if len(core) >= MIN_CHARS:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _percent_all(data: bytes) -> str:
    return "".join(f"%{byte:02X}" for byte in data)


def renderings(secret: str) -> set[str]:
    """Texts that carry *secret*, itself included. Case-insensitive ones are lower-case too."""
    raw = secret.encode("utf-8", "surrogatepass")
    forms = {secret, secret[::-1], quote(secret, safe=""), quote(secret), quote_plus(secret)}
    forms |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {
        json.dumps(json.dumps(secret)[1:-1])[1:-1],
        json.dumps(secret)[1:-1].replace("/", "\\/"),
    }
    forms |= {html.escape(secret), _percent_all(raw)}
    forms |= {_ESCAPE.sub(lambda found: found[0].lower(), form) for form in tuple(forms)}
    forms.add("".join(f"\\u{ord(char):04x}" if char in "<>&'+=" else char for char in secret))
    for data in (raw, raw[::-1], secret.encode("utf-16-le", "surrogatepass")):
        forms |= {data.hex(), data.hex().upper(), data.hex(":"), data.hex(" ")}
        forms |= set(_base64_cores(data))
    forms |= set(_base64_cores(secret.encode("utf-16-be", "surrogatepass")))
    return {form for form in forms if form}


@dataclass(frozen=True, slots=True)
class _Forms:
    """
    What is looked for.

    Args:
        exact: As they stand.
        folded: Lower-case; hexadecimal digits and percent escapes come in either
            case, even mixed.
        lone: Too short to be removed inside a word.
        data: All but the short ones, as bytes.
    """

    exact: frozenset[str]
    folded: frozenset[str]
    lone: frozenset[str]
    data: frozenset[bytes]

    @classmethod
    def of(cls, secrets: Iterable[str]) -> _Forms:
        forms: set[str] = set()
        for secret in secrets:
            forms |= renderings(secret)
        long = {form for form in forms if len(form) >= MIN_CHARS}
        folded = frozenset(form.lower() for form in long if _EITHER_CASE.fullmatch(form))
        exact = frozenset(form for form in long if form.lower() not in folded)
        data = frozenset(
            form.encode(encoding, "surrogatepass")
            for form in exact | folded | {form.upper() for form in folded}
            for encoding in ("utf-8", "utf-16-le", "utf-16-be")
        )
        return cls(exact, folded, frozenset(forms - long), data)


class Scrubber:
    """
    Replaces known secrets. Immutable; `|` joins two.

    Args:
        secrets: Raw and rendered values. Empty ones are ignored.
    """

    __slots__ = ("_forms_made", "_secrets")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secret for secret in secrets if secret)
        self._forms_made: _Forms | None = None

    @property
    def _forms(self) -> _Forms:
        # Made on first use: most scrubbers are joined to one that has the secret already.
        if self._forms_made is None:
            self._forms_made = _Forms.of(self._secrets)
        return self._forms_made

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
        forms = self._forms
        # A search per form is far quicker than one alternation, and nearly always in vain.
        found = [re.escape(form) for form in forms.exact if form in text]
        if forms.folded:
            lower = text.lower()
            found += [f"(?i:{re.escape(form)})" for form in forms.folded if form in lower]
        found += [rf"(?<!\w){re.escape(form)}(?!\w)" for form in forms.lone if form in text]
        if len(text) > 20 and forms.data and any(mark in text for mark in _PACKED_MARKS):
            found += [re.escape(token) for token in _PACKED_TEXT.findall(text) if self._in(token)]
        if not found:
            return text
        # Longest first: a form that holds another must win.
        found.sort(key=lambda part: (-len(part), part))
        return re.sub("|".join(found), MARK, text)

    def data(self, data: bytes) -> bytes:
        """*data* without secrets, in UTF-8 and UTF-16 forms. Short secrets are left."""
        if self._forms.data and data[:2] in _PACKED and self._in_packed(data):
            return MARK.encode()
        found = [re.escape(form) for form in self._forms.data if form in data]
        if not found:
            return data
        found.sort(key=lambda part: (-len(part), part))
        return re.sub(b"|".join(found), MARK.encode(), data)

    def _in(self, token: str) -> bool:
        """Whether base64 text carries packed data with a secret inside."""
        plain = token.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            return self._in_packed(b64decode(plain + "=" * (-len(plain) % 4)))
        except ValueError:
            return False

    def _in_packed(self, data: bytes) -> bool:
        try:
            plain = zlib.decompressobj(47).decompress(data, MAX_UNPACKED_BYTES)
        except zlib.error:
            return False
        return any(form in plain for form in self._forms.data)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets: strings, and the keys of objects."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            # A numeric secret (a PIN, an account id) would otherwise pass as a number.
            text = str(value)
            return value if self.text(text) == text else MARK
        return value
