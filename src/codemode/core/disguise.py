"""
The forms that a text can take on its way through a service, and how each is found.

For every form there is a *view* of the text in which it stands undisturbed (line
breaks taken out, escapes decoded) and a *pattern* that finds it in the text itself.
A view is made once and searched for plain substrings, which is quick and nearly
always in vain; patterns are compiled only for what was found. Views and patterns take
time linear in the text, whatever it holds.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b32encode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, unquote

MIN_CHARS = 6
"""Shorter secrets are only removed where they stand alone: they occur in ordinary words."""

MAX_LAYERS = 3
"""How many times over a text is unescaped."""

_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_BREAKS = r"(?:\\++[rnt]?+|\s)*+"
"""Between characters of base64: line breaks, also escaped, and the backslash of ``\\/``."""
_JOINTS = r"(?:0x|\\++[xrnt]?+|[\s:,._;-])*+"
"""Between bytes in hexadecimal."""
_ENTITY_MARKS = re.compile(r"\\[ux][0-9a-fA-F]{2}|&#|&amp;|%[0-9a-fA-F]{2}")
_UNITS = re.compile(r"(?:(?<!\\)\\++(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}))+")
_UNIT = re.compile(r"[ux]([0-9a-fA-F]+)")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")


@dataclass(frozen=True, slots=True)
class Forms:
    """
    What is looked for.

    Args:
        exact: In the text as it stands.
        folded: Likewise, in either case, even mixed.
        lone: Too short to be removed inside a word.
        base64: Also with line breaks inside.
        base32: Likewise, in either case.
        digits: Hexadecimal, in either case and with anything of `_JOINTS` between bytes.
        is_numeric: Whether a JSON number may be one of these.
    """

    exact: frozenset[str]
    folded: frozenset[str]
    lone: frozenset[str]
    base64: frozenset[str]
    base32: frozenset[str]
    digits: frozenset[str]
    is_numeric: bool

    @classmethod
    def of(cls, secrets: Iterable[str]) -> Forms:
        plain: set[str] = set()
        folded: set[str] = set()
        base64: set[str] = set()
        base32: set[str] = set()
        digits: set[str] = set()
        for secret in secrets:
            plain |= _written(secret)
            folded |= {secret.lower(), secret[::-1].lower(), _percent(secret).lower()}
            raw = secret.encode("utf-8", "surrogatepass")
            wide = [secret.encode(f"utf-16-{end}", "surrogatepass") for end in ("le", "be")]
            for data in (raw, raw[::-1], *wide):
                digits.add(data.hex())
                base64 |= set(base64_cores(data))
            for core in tuple(base64_cores(raw)):
                base64 |= set(base64_cores(core.encode()))
            base64.add("".join(secret.split()))
            base32 |= set(base32_cores(raw))
        return cls(
            exact=frozenset(form for form in plain if len(form) >= MIN_CHARS),
            folded=_long(folded),
            lone=frozenset(form for form in plain if 0 < len(form) < MIN_CHARS),
            base64=_long(base64),
            base32=_long(base32),
            digits=_long(digits),
            is_numeric=any(re.fullmatch(r"[0-9.eE+-]+", form) for form in plain),
        )

    def bare(self) -> frozenset[str]:
        """All but the short ones, as they are without breaks between."""
        cases = self.folded | self.base32 | self.digits
        return self.exact | self.base64 | cases | {form.upper() for form in cases}

    def patterns(self, text: str) -> list[str]:
        """Regular expressions for what *text* holds, the longest forms first."""
        found = [(form, re.escape(form)) for form in self.exact if form in text]
        found += [(form, rf"(?<!\w){re.escape(form)}(?!\w)") for form in self.lone if form in text]
        lower = text.lower()
        found += [(form, f"(?i:{re.escape(form)})") for form in self.folded if form in lower]
        unbroken = _without_breaks(text)
        found += [(form, _broken(form)) for form in self.base64 if form in unbroken]
        unbroken = unbroken.lower()
        found += [(form, f"(?i:{_broken(form)})") for form in self.base32 if form in unbroken]
        joined = _without_joints(lower)
        found += [(form, _jointed(form)) for form in self.digits if form in joined]
        if _ENTITY_MARKS.search(text):
            decoded = _decoded(text)
            every = self.exact | self.base64
            found += [(form, spelled(form)) for form in every if form in decoded]
        found.sort(key=lambda pair: (-len(pair[0]), pair[1]))
        return [pattern for _, pattern in found]


def _long(forms: Iterable[str]) -> frozenset[str]:
    return frozenset(form for form in forms if len(form) >= MIN_CHARS)


def _percent(secret: str) -> str:
    return "".join(f"%{byte:02X}" for byte in secret.encode("utf-8", "surrogatepass"))


def _written(secret: str) -> set[str]:
    """As text in URLs, JSON, JSON in JSON, and HTML."""
    in_json = json.dumps(secret)[1:-1]
    forms = {secret, secret[::-1], html.escape(secret), _percent(secret)}
    forms |= {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    forms |= {in_json, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(in_json)[1:-1]}
    forms |= {in_json.replace("/", "\\/")}
    return forms | {_ESCAPE.sub(lambda found: found[0].lower(), form) for form in forms}


def base64_cores(data: bytes) -> Iterator[str]:
    """
    The characters of *data*'s base64 that do not depend on its neighbours.

    Inside longer data the first and last character may mix with other bytes;
    what is left is the same wherever the data stands.
    """
    for offset in range(3):
        encoded = b64encode(b"\0" * offset + data).decode().rstrip("=")
        core = encoded[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        if len(core) >= MIN_CHARS:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def base32_cores(data: bytes) -> Iterator[str]:
    """Likewise of base32, in lower case."""
    for offset in range(5):
        encoded = b32encode(b"\0" * offset + data).decode().rstrip("=").lower()
        yield encoded[-(-offset * 8 // 5) : (offset + len(data)) * 8 // 5]


# -- views ---------------------------------------------------------------------------------------


def _without_breaks(text: str) -> str:
    if "\\" in text:
        for mark in ("\\r", "\\n", "\\t", "\\"):
            text = text.replace(mark, "")
    return "".join(text.split())


def _without_joints(lower: str) -> str:
    lower = _without_breaks(lower.replace("\\x", ""))
    for mark in ("0x", ":", ",", ".", "_", ";", "-"):
        lower = lower.replace(mark, "")
    return lower


def _decoded(text: str) -> str:
    """*text* with its JSON, HTML and percent escapes undone, however they are nested."""
    for _ in range(MAX_LAYERS):
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text:
            text = _UNITS.sub(_characters, text)
        if "%" in text:
            text = _PERCENT.sub(lambda found: unquote(found[0], errors="replace"), text)
        if text == before:
            break
    return text


def _characters(found: re.Match[str]) -> str:
    units = "".join(chr(int(digits, 16)) for digits in _UNIT.findall(found[0]))
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# -- patterns ------------------------------------------------------------------------------------


def _broken(form: str) -> str:
    return _BREAKS.join(map(re.escape, form))


def _jointed(form: str) -> str:
    return f"(?i:{_JOINTS.join(form[at : at + 2] for at in range(0, len(form), 2))})"


def spelled(form: str) -> str:
    """A pattern of *form* in which each character may be escaped in any way of its own."""
    return "".join(map(_spelled, form))


def _spelled(char: str) -> str:
    data = char.encode("utf-16-be", "surrogatepass")
    units = [data[at : at + 2].hex() for at in range(0, len(data), 2)]
    octets = [f"{byte:02x}" for byte in char.encode("utf-8", "surrogatepass")]
    ways = [
        "".join(rf"(?<!\\)\\++u{unit}" for unit in units),
        "".join(f"%(?:25)*+{octet}" for octet in octets),
        rf"&(?:amp;)*+#(?:0*+{ord(char)}|x0*+{ord(char):x});?",
    ]
    if ord(char) < 256:
        ways.append(rf"(?<!\\)\\++x{ord(char):02x}")
    if (entity := html.escape(char)) != char:
        ways.append(entity.replace("&", "&(?:amp;)*+"))
    literal = re.escape(char)
    if char in "\"/'":
        literal = rf"(?:(?<!\\)\\++)?{literal}"
    elif char == "\\":
        literal = r"\\++"
    return f"(?:{literal}|(?i:{'|'.join(ways)}))"
