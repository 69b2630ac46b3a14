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
