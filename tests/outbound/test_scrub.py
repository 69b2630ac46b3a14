"""No form of a secret gets through, and nothing else is touched."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from codemode.core import disguise
from codemode.core import scrub as scrub_module
from codemode.core.scrub import MARK, MIN_CHARS, Scrubber

SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=8)
AROUND = st.binary(max_size=12)


def forms(secret: str, before: bytes, after: bytes) -> dict[str, str]:
    """What a service may echo a secret as, inside other data."""
    raw = secret.encode()
    inside = before + raw + after
    return {
        "raw": secret,
        "reversed": secret[::-1],
        "base64": base64.b64encode(inside).decode(),
        "base64, url-safe": base64.urlsafe_b64encode(inside).decode(),
        "base64, no padding": base64.b64encode(inside).decode().rstrip("="),
        "hex": inside.hex(),
        "HEX": inside.hex().upper(),
        "hex with colons": raw.hex(":"),
        "percent": quote(secret, safe=""),
        "percent, plus": quote_plus(secret),
        "percent, lower": "".join(f"%{byte:02x}" for byte in raw),
        "percent, every byte": "".join(f"%{byte:02X}" for byte in raw),
        "json": json.dumps(secret),
        "json, unicode": json.dumps(secret, ensure_ascii=False),
        "json twice": json.dumps(json.dumps(secret)),
        "html": html.escape(secret),
        "utf-16 base64": base64.b64encode(secret.encode("utf-16-le")).decode(),
        "utf-16 hex": secret.encode("utf-16-le").hex(),
    }


def found_in(secret: str, text: str) -> bool:
    """Whether some decoding of *text* still shows the secret; written without the scrubber."""
    return any(form in text for form in (secret, secret[::-1], secret.encode().hex()))


@pytest.mark.case("attack:17", "E8")
@given(SECRETS, AROUND, AROUND)
def test_every_form_is_removed(secret: str, before: bytes, after: bytes) -> None:
    assume(not secret.isspace())
    scrub = Scrubber([secret])
    for name, text in forms(secret, before, after).items():
        cleaned = scrub.text(f"<{text}>")
        assert MARK in cleaned, name
        assert not found_in(secret, cleaned), name


@given(SECRETS, AROUND, AROUND)
def test_base64_of_a_longer_text_no_longer_decodes_to_the_secret(
    secret: str, before: bytes, after: bytes
) -> None:
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    cleaned = Scrubber([secret]).text(encoded)
    for piece in cleaned.split(MARK):
        for cut in range(4):
            part = piece[cut:]
            part = part[: len(part) // 4 * 4]
            try:
                decoded = base64.b64decode(part, validate=True)
            except ValueError:
                continue
            assert secret.encode() not in decoded


@given(SECRETS)
def test_bytes_are_cleaned_in_utf_8_and_utf_16(secret: str) -> None:
    scrub = Scrubber([secret])
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        data = b"\x00\xff" + secret.encode(encoding) + b"\xfe"
        cleaned = scrub.data(data)
        assert secret.encode(encoding) not in cleaned
        assert cleaned == b"\x00\xff" + MARK.encode() + b"\xfe"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=20,
)


@given(JSON)
def test_a_value_without_the_secret_comes_back_as_it_is(value: Any) -> None:
    scrub = Scrubber(["\ufdd0 a secret that no strategy makes \ufdd1"])
    assert scrub.value(value) == value


@given(JSON, SECRETS)
def test_a_value_that_is_made_of_secrets_shows_none(value: Any, secret: str) -> None:
    scrub = Scrubber([secret])
    planted = {secret: [value, {"k": f"x{secret}y", secret[::-1]: secret}], "b": secret.encode()}
    cleaned = scrub.value(planted)
    assert secret not in json.dumps(cleaned, default=str, ensure_ascii=False)
    assert scrub.value(cleaned) == cleaned


def test_keys_numbers_and_rendered_values() -> None:
    scrub = Scrubber(["48151623", "Basic c29tZTpwYXNz"])
    assert scrub.value({"48151623": 48151623, "n": 481516, "t": (1,)}) == {
        MARK: MARK,
        "n": 481516,
        "t": [1],
    }
    assert scrub.value(True) is True
    assert scrub.text("Authorization: Basic c29tZTpwYXNz") == f"Authorization: {MARK}"


def test_short_secrets_go_only_where_they_stand_alone() -> None:
    scrub = Scrubber(["cat"])
    assert len("cat") < MIN_CHARS
    assert scrub.text("the cat sat; concatenate") == f"the {MARK} sat; concatenate"
    assert scrub.value({"pin": "cat"}) == {"pin": MARK}


def test_the_longest_of_overlapping_secrets_wins() -> None:
    scrub = Scrubber(["token-1"]) | Scrubber(["token-1-and-more"])
    assert scrub.text("x token-1-and-more y token-1 z") == f"x {MARK} y {MARK} z"


def test_an_empty_scrubber_and_joining() -> None:
    nothing = Scrubber(["", ""])
    assert not nothing
    assert nothing.text("x") == "x"
    some = Scrubber(["secret-value"])
    assert some | nothing is some
    assert "secret-value" not in repr(some)


def test_packed_data_with_a_secret_inside_is_removed_whole() -> None:
    import gzip
    import zlib

    secret = "packed-secret-value"
    scrub = Scrubber([secret])
    plain = f'{{"token": "{secret}"}}'.encode() * 3
    for packed in (gzip.compress(plain), zlib.compress(plain)):
        assert scrub.data(packed) == MARK.encode()
        text = f"see {base64.b64encode(packed).decode()} end"
        assert scrub.text(text) == f"see {MARK} end"
        innocent = type(packed)(gzip.compress(b"nothing here " * 9))
        assert scrub.data(innocent) == innocent
        assert scrub.text(base64.b64encode(innocent).decode()) != MARK


def disguises(secret: str) -> dict[str, str]:
    """Forms that hold nothing but the secret, in spellings of services and mail programs."""
    raw = secret.encode()
    once = base64.b64encode(raw).decode()
    lines = "\n".join(once[at : at + 5] for at in range(0, len(once), 5))
    return {
        "mime": base64.encodebytes(b"Authorization: Bearer " + raw + b" " * 50 + raw).decode(),
        "broken": lines,
        "broken, crlf": lines.replace("\n", "\r\n"),
        "broken, json": json.dumps(lines.replace("\n", "\r\n")),
        "broken, json twice": json.dumps(json.dumps(lines)),
        "slashes": once.replace("/", "\\/"),
        "percent of base64": quote(once, safe=""),
        "twice": base64.b64encode(once.encode()).decode(),
        "twice, inside": base64.b64encode(b"x" + base64.b64encode(b"u:" + raw) + b"y").decode(),
        "base32": base64.b32encode(raw).decode(),
        "base32, inside": base64.b32encode(b"abc" + raw + b"de").decode().lower(),
        "json escapes": "".join(f"\\u{ord(char):04x}" for char in secret),
        "JSON ESCAPES": "".join(f"\\u{ord(char):04X}" for char in secret),
        "json escapes twice": "".join(f"\\\\u{ord(char):04x}" for char in secret),
        "some json escapes": "".join(
            char if at % 2 else f"\\u{ord(char):04x}" for at, char in enumerate(secret)
        ),
        "html": "".join(f"&#{ord(char)};" for char in secret),
        "html, hex": "".join(f"&#x{ord(char):X};" for char in secret),
        "html twice": "".join(f"&amp;#{ord(char)};" for char in secret),
        "percent twice": "".join(f"%25{byte:02X}" for byte in raw),
        "x escapes": "".join(f"\\x{byte:02x}" for byte in raw),
        **{f"hex {sep!r}": raw.hex(sep) for sep in ":- ,"},
        "HEX :": raw.hex(":").upper(),
        "hex, pairs of bytes": raw.hex(" ", 2),
        "hex, 0x": ", ".join(f"0x{byte:02x}" for byte in raw),
        "upper": secret.upper(),
        "lower": secret.lower(),
    }


@pytest.mark.case("attack:17", "E8")
@pytest.mark.parametrize("secret", ["sk_live_Zx81QqLmNn0pRrTt", "s3cr3t/Value+For=Tests&<more>"])
def test_every_disguise_is_removed_from_texts_values_and_files(secret: str) -> None:
    scrub = Scrubber([secret])
    for name, text in disguises(secret).items():
        for cleaned in (
            scrub.text(f"<{text}>"),
            scrub.value({"a": ["x", text]})["a"][1],
            scrub.data(f"<{text}>".encode()).decode(),
        ):
            assert MARK in cleaned, name
            rest = len(cleaned.replace(MARK, ""))
            assert rest <= 24 or name == "mime", (name, cleaned)
        innocent = disguises("An-Innocent_Text0fThatSort")[name]
        assert scrub.text(innocent) == innocent, name


def test_packed_tokens_share_one_budget_and_what_is_beyond_it_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import zlib

    unpacked: list[int] = []
    real = scrub_module._Budget.unpack

    def counted(self: Any, data: bytes) -> bytes:
        plain = real(self, data)
        unpacked.append(len(plain))
        return plain

    monkeypatch.setattr(scrub_module._Budget, "unpack", counted)
    monkeypatch.setattr(scrub_module, "MAX_UNPACKED_BYTES", 100_000)
    tokens = [
        base64.b64encode(zlib.compress(b"%d" % n + b"\0" * 30_000, 9)).decode() for n in range(40)
    ]
    scrub = Scrubber(["packed-secret-value"])
    for clean in (lambda: scrub.text(" ".join(tokens)), lambda: " ".join(scrub.value(tokens))):
        unpacked.clear()
        cleaned = clean()
        assert sum(unpacked) <= 100_000
        assert len([one for one in cleaned.split(" ") if one in tokens]) == 3
        assert cleaned.count(MARK) == 37
    unpacked.clear()
    many = " ".join(base64.b64encode(zlib.compress(b"%d" % n * 9)).decode() for n in range(500))
    scrub.text(many)
    assert sum(1 for n in unpacked if n) <= scrub_module.MAX_TOKENS


def test_a_value_of_many_strings_is_searched_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    real = disguise.Forms.patterns

    def counted(self: Any, text: str) -> list[str]:
        searched.append(len(text))
        return real(self, text)

    monkeypatch.setattr(disguise.Forms, "patterns", counted)
    scrub = Scrubber(["a-secret-value"])
    value = {"a": [f"x{n}" for n in range(50_000)]}
    assert scrub.value(value) is value
    value["a"][7] = "say a-secret-value"
    assert scrub.value(value)["a"][6:9] == ["x6", f"say {MARK}", "x8"]
    assert len(searched) == 2
