"""Credentials and secrets: where they may go, where they come from, that they do not print."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import codemode
from codemode.core.call import HttpRequest
from codemode.core.credential import Credential, Lookup, Secret, inject
from codemode.errors import ConfigError, CredentialOutOfScope, MissingSecret
from codemode.store.credentials import load_credentials, read_credentials
from codemode.store.secrets import SecretStore
from outbound.flows import SECRET, credential

SOURCES = Path(codemode.__file__).parent


@pytest.mark.case("attack:29")
def test_a_secret_does_not_print_pickle_or_copy() -> None:
    secret = Secret(SECRET)
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", f"{secret:>20}"):
        assert SECRET not in text
    assert SECRET not in repr({"x": [secret]})
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            copied(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)
    assert not hasattr(secret, "__dict__")
    assert secret == Secret(SECRET) != Secret("other")
    assert len({secret, Secret(SECRET)}) == 1


def test_secrets_are_revealed_in_one_place() -> None:
    places = [
        (path.relative_to(SOURCES).as_posix(), call.lineno)
        for path in SOURCES.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Attribute) and call.attr in ("reveal", "_value")
        and path.name != "credential.py"
    ]  # fmt: skip
    assert not places
    tree = ast.parse((SOURCES / "core/credential.py").read_text())
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "reveal"
    ]
    assert len(calls) == 1


REQUEST = HttpRequest(method="GET", url="https://shop.example/x")


@pytest.mark.case("attack:37", "attack:41")
@pytest.mark.parametrize(
    "url",
    [
        *("http://shop.example/", "https://shop.example:444/", "https://evil.example/"),
        *("https://shop.example.evil.example/", "https://xshop.example/", "https://shop.exampl/"),
    ],
)
def test_only_its_own_destinations_get_a_credential(url: str) -> None:
    with pytest.raises(CredentialOutOfScope) as caught:
        inject(HttpRequest(method="GET", url=url), credential(), Secret(SECRET))
    assert "https://shop.example" in caught.value.hint
    assert SECRET not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("spelled", ["https://SHOP.example./x", "https://shop.example:443/x"])
def test_destinations_are_compared_in_one_spelling(spelled: str) -> None:
    sent, _ = inject(HttpRequest(method="GET", url=spelled), credential(), Secret(SECRET))
    assert ("Authorization", f"Bearer {SECRET}") in sent.headers


@pytest.mark.case("attack:19", "attack:29")
def test_rendered_forms_are_removed_and_requests_do_not_print() -> None:
    sent, scrub = inject(REQUEST, credential(scheme="basic", username="me"), Secret(SECRET))
    rendered = dict(sent.headers)["Authorization"].removeprefix("Basic ")
    assert rendered not in scrub.text(f"x {rendered} y")
    assert "me:" + SECRET not in scrub.text(f"me:{SECRET}")
    for scheme, key in (("bearer", "Authorization"), ("query", "k"), ("header", "X-Key")):
        sent, _ = inject(REQUEST, credential(scheme=scheme, key=key), Secret(SECRET))
        assert SECRET not in repr(sent)
        assert "s3cr3t" not in repr(sent)


def test_a_header_of_the_row_does_not_stand_beside_the_credentials() -> None:
    request = HttpRequest(
        method="GET", url="https://shop.example/", headers=(("x-api-key", "guess"), ("A", "b"))
    )
    sent, _ = inject(request, credential(scheme="header", key="X-Api-Key"), Secret(SECRET))
    assert sent.headers == (("A", "b"), ("X-Api-Key", SECRET))


@pytest.mark.case("attack:39")
@pytest.mark.parametrize("value", ["q\r\nX: y", "q\nb", "q\0", "ä", " qx", "qx "])
def test_a_secret_that_would_break_a_header_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        inject(REQUEST, credential(scheme="header", key="X-Key"), Secret(value))
    assert value not in caught.value.message + caught.value.hint


# -- the file ---------------------------------------------------------------------------------


def write(folder: Path, credentials: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "credentials.json"
    path.write_text(json.dumps({"$schema": "./x.json", "credentials": credentials}))
    return path


SHOP = {"scheme": "bearer", "destinations": ["https://shop.example:443"], "env": "SHOP_TOKEN"}


def test_a_file(tmp_path: Path) -> None:
    write(tmp_path, {"shop": SHOP, "k": SHOP | {"scheme": "header", "key": "X-Key"}})
    loaded = load_credentials(tmp_path)
    assert loaded["shop"] == Credential(
        name="shop",
        scheme="bearer",
        destinations=credential().destinations,
        lookup=Lookup(env="SHOP_TOKEN", service="codemode", username="shop"),
    )
    assert loaded["k"].key == "X-Key"
    assert load_credentials(tmp_path / "none") == {}


def test_the_operator_narrows_and_overrides(tmp_path: Path) -> None:
    write(tmp_path, {"shop": SHOP})
    changes = {"shop": {"destinations": ["http://127.0.0.1:8080"], "argv": ["pass", "x"]}}
    shop = load_credentials(tmp_path, operator=changes)["shop"]
    assert [str(each) for each in shop.destinations] == ["http://127.0.0.1:8080"]
    assert (shop.scheme, shop.lookup.provider, shop.lookup.argv) == (
        "bearer",
        "command",
        ("pass", "x"),
    )
    own = load_credentials(
        tmp_path, operator={"mine": {"scheme": "query", "key": "k", "destinations": ["https://m.example"]}}
    )  # fmt: skip
    assert own["mine"].lookup.env == "MINE_TOKEN"


def test_an_imported_directory_redefines_nothing_and_chooses_no_secret(tmp_path: Path) -> None:
    write(tmp_path / "own", {"shop": SHOP})
    evil = SHOP | {"destinations": ["https://evil.example"]}
    write(tmp_path / "other", {"shop": evil})
    with pytest.raises(ConfigError, match="'shop' is already defined"):
        load_credentials(tmp_path / "own", imported=(tmp_path / "other",))
    write(tmp_path / "other", {"thief": evil, "shop": SHOP})
    loaded = load_credentials(tmp_path / "own", imported=(tmp_path / "other",))
    assert loaded["thief"].lookup.env == "CODEMODE_THIEF"  # not SHOP_TOKEN
    assert loaded["shop"].lookup.env == "SHOP_TOKEN"


WRONG = [
    ({"shop": SHOP | {"schem": 1}}, "unknown key 'credentials.shop.schem'"),
    ({"shop": {"scheme": "bearer"}}, "no destination"),
    ({"shop": {"destinations": ["https://a.example"]}}, "no scheme"),
    ({"shop": SHOP | {"scheme": "header"}}, "no key"),
    ({"shop": SHOP | {"destinations": ["https://*.example"]}}, "destination"),
    ({"shop": SHOP | {"destinations": ["https://a.example/path"]}}, "more than scheme"),
    ({"shop": SHOP | {"destinations": ["a.example"]}}, "not http or https"),
    ({"shop": SHOP | {"destinations": []}}, "no destination"),
    ({"shop": SHOP | {"scheme": "digest"}}, "scheme"),
    ({"shop": SHOP | {"argv": ["sh", "-c", "x"]}}, "names a file or a command"),
    ({"shop": SHOP | {"path": "/etc/shadow"}}, "names a file or a command"),
    ({"shop": SHOP | {"scheme": "header", "key": "X Y"}}, "no header name"),
    ({"shop": SHOP | {"prefix": "a\nb"}}, "one line"),
]


@pytest.mark.parametrize(("content", "said"), WRONG)
def test_what_is_wrong_in_a_file(tmp_path: Path, content: dict[str, Any], said: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        read_credentials(path)
    assert said in caught.value.message
    assert "credentials.json" in caught.value.message


def test_twice_the_same_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "credentials.json").write_text('{"credentials": {"a": {}, "a": {}}}')
    with pytest.raises(ConfigError, match="same key twice"):
        load_credentials(tmp_path)


# -- providers --------------------------------------------------------------------------------


def looked_up(**fields: Any) -> Credential:
    return credential(lookup=Lookup(**fields))


async def test_environment() -> None:
    environment = {"SHOP_TOKEN": f" {SECRET}\n"}
    store = SecretStore(environment)
    assert await store.get(credential()) == Secret(SECRET)
    environment["SHOP_TOKEN"] = "rotated"
    assert await store.get(credential()) == Secret(SECRET)
    assert await store.get(credential(), fresh=True) == Secret("rotated")
    assert SECRET not in repr(store)
    with pytest.raises(MissingSecret) as caught:
        await store.get(looked_up(env="NONE"))
    assert "environment variable NONE" in caught.value.hint
    assert await store.has(credential())
    assert not await store.has(looked_up(env="NONE"))


async def test_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    store = SecretStore({})
    where = looked_up(provider="file", path=str(path))
    with pytest.raises(MissingSecret):
        await store.get(where)
    path.write_text(SECRET + "\n")
    path.chmod(0o644)
    with pytest.raises(ConfigError) as caught:
        await store.get(where)
    assert caught.value.hint == f"chmod 600 {path}"
    path.chmod(0o600)
    assert await store.get(where) == Secret(SECRET)
    path.write_text(f"{SECRET}\nsecond line")
    with pytest.raises(ConfigError) as caught:
        await store.get(where, fresh=True)
    assert SECRET not in caught.value.message
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    with pytest.raises(ConfigError, match="no regular file"):
        await store.get(looked_up(provider="file", path=str(folder)))


async def test_command() -> None:
    environment = {"SHOP_TOKEN": SECRET, "PATH": "/usr/bin:/bin"}
    store = SecretStore(environment)

    def command(code: str) -> Credential:
        return looked_up(provider="command", argv=(sys.executable, "-c", code))

    assert await store.get(command("print('from-command')")) == Secret("from-command")
    # It does not see the host's environment.
    seen = await store.get(command("import os; print(','.join(sorted(os.environ)))"))
    assert seen in (Secret("PATH"), Secret("LC_CTYPE,PATH"))  # the interpreter adds LC_CTYPE
    with pytest.raises(MissingSecret) as caught:
        await store.get(command(f"print('{SECRET}'); import sys; sys.exit(3)"))
    assert "ended with 3" in caught.value.message
    assert SECRET not in caught.value.message + caught.value.hint
    with pytest.raises(MissingSecret, match="cannot be started"):
        await store.get(looked_up(provider="command", argv=("no-such-program-here",)))


async def test_a_command_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode.store.secrets.COMMAND_S", 0.2)
    slow = looked_up(provider="command", argv=(sys.executable, "-c", "import time; time.sleep(60)"))
    with pytest.raises(MissingSecret, match="more than"):
        await SecretStore({}).get(slow)


async def test_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backend import KeyringBackend
    from keyring.errors import NoKeyringError

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            if service == "locked":
                raise NoKeyringError(SECRET)
            return {("codemode", "shop"): SECRET}.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

        def delete_password(self, service: str, username: str) -> None:
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        store = SecretStore({})
        there = looked_up(provider="keyring", service="codemode", username="shop")
        assert await store.get(there) == Secret(SECRET)
        with pytest.raises(MissingSecret):
            await store.get(looked_up(provider="keyring", service="codemode", username="none"))
        with pytest.raises(MissingSecret) as caught:
            await store.get(looked_up(provider="keyring", service="locked", username="x"))
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    finally:
        keyring.set_keyring(before)
