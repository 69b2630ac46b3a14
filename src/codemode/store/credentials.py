"""
The credentials file that ships beside a directory, and the operator's changes to it.

The file names what is attached, how, and to which exact destinations; a secret
never stands in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemode.core.address import Destination
from codemode.core.credential import Credential, Lookup
from codemode.core.http_spec import HEADER_VALUE, TOKEN
from codemode.errors import AddressRefused, ConfigError

FILE_NAME = "credentials.json"


class _Fields(BaseModel):
    """Everything a credential can say, in the file or in the operator's config."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: Literal["bearer", "basic", "header", "query"] | None = None
    destinations: tuple[str, ...] | None = None
    key: str | None = None
    username: str | None = None
    prefix: str | None = None
    provider: Literal["env", "file", "keyring", "command"] | None = None
    env: str | None = None
    path: Path | None = None
    service: str | None = None
    argv: tuple[str, ...] | None = None
    description: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    json_schema: str | None = Field(default=None, alias="$schema")
    credentials: dict[str, _Fields]


def load_credentials(
    folder: Path,
    *,
    operator: Mapping[str, Mapping[str, Any]] | None = None,
    imported: tuple[Path, ...] = (),
) -> dict[str, Credential]:
    """
    All credentials of a directory, by name.

    Args:
        folder: Its ``credentials.json`` may be missing.
        operator: Credential name -> changed fields from the operator's config; one
            that does not ship needs at least *scheme* and *destinations*.
        imported: Folders of directories that someone imported. They may add
            credentials, never redefine one, and never choose where a secret is looked
            up: that is ``CODEMODE_NAME`` unless the operator says otherwise.

    Raises:
        ConfigError: Naming file, credential and field.
    """
    found = read_credentials(folder / FILE_NAME)
    for each in imported:
        path = each / FILE_NAME
        for name, credential in read_credentials(path).items():
            known = found.get(name)
            if known is not None and _attached(known) == _attached(credential):
                continue  # a copy of the shipped file says the same
            if known is not None:
                raise ConfigError(
                    f"{path}: credential {name!r} is already defined.",
                    hint="An imported directory may not redefine one; rename it there.",
                )
            own = Lookup(env=f"CODEMODE_{name.upper()}", service="codemode", username=name)
            found[name] = replace(credential, lookup=own)
    for name, changes in (operator or {}).items():
        given = {key: value for key, value in changes.items() if value is not None}
        found[name] = _made(name, _fields(given, f"credentials.{name}"), found.get(name))
    return found


def read_credentials(path: Path) -> dict[str, Credential]:
    """
    One file. A missing one has no credentials.

    Raises:
        ConfigError: Naming file, credential and field.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {type(error).__name__}.") from None
    try:
        file = _File.model_validate(json.loads(text, object_pairs_hook=_unique))
    except ValidationError as error:
        raise _wrong(error, str(path)) from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    made = {}
    for name, fields in file.credentials.items():
        if fields.argv or fields.path or fields.provider in ("file", "command"):
            raise ConfigError(
                f"{path}: credential {name!r} names a file or a command.",
                hint="Only the operator's codemode.toml may; a directory names env or keyring.",
            )
        try:
            made[name] = _made(name, fields, None)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error.message}", hint=error.hint) from None
    return made


def _attached(credential: Credential) -> tuple[object, ...]:
    """What is attached, how and where to: all that must not be redefined."""
    return (
        credential.scheme,
        credential.key.lower(),
        credential.username,
        credential.prefix,
        credential.destinations,
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _fields(given: Mapping[str, Any], origin: str) -> _Fields:
    try:
        return _Fields.model_validate(given)
    except ValidationError as error:
        raise _wrong(error, origin) from None


def _wrong(error: ValidationError, origin: str) -> ConfigError:
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(_Fields.model_fields)
        return ConfigError(f"{origin}: unknown key {where!r}.", hint=f"Known: {known}.")
    return ConfigError(f"{origin}: {where}: {first['msg']}.")


def _made(name: str, fields: _Fields, shipped: Credential | None) -> Credential:
    """A credential from *fields*, laid over the *shipped* one."""
    scheme = fields.scheme or (shipped.scheme if shipped else None)
    if scheme is None:
        raise ConfigError(
            f"Credential {name!r} has no scheme.", hint="bearer, basic, header or query."
        )
    destinations = _destinations(name, fields.destinations)
    if fields.destinations is None:
        destinations = shipped.destinations if shipped else frozenset()
    if not destinations:
        raise ConfigError(
            f"Credential {name!r} has no destination.",
            hint='Such as destinations = ["https://api.example.com:443"].',
        )
    base = shipped if shipped is not None and shipped.scheme == scheme else None
    key = fields.key if fields.key is not None else (base.key if base else None)
    if key is None and scheme in ("header", "query"):
        raise ConfigError(f"Credential {name!r} has no key: the {scheme}'s name.")
    if key is not None and scheme != "query" and not TOKEN.fullmatch(key):
        raise ConfigError(f"Credential {name!r}: key is no header name.")
    prefix = fields.prefix if fields.prefix is not None else (base.prefix if base else "")
    if not HEADER_VALUE.fullmatch(prefix):
        raise ConfigError(f"Credential {name!r}: prefix is one line of ASCII.")
    username = fields.username if fields.username is not None else (base.username if base else "")
    credential = Credential(
        name=name,
        scheme=scheme,
        key=key or "Authorization",
        username=username if scheme == "basic" else "",
        prefix=prefix,
        destinations=destinations,
        lookup=_lookup(name, fields, shipped.lookup if shipped else None),
        description=fields.description or (shipped.description if shipped else ""),
    )
    return credential


def _destinations(name: str, given: tuple[str, ...] | None) -> frozenset[Destination]:
    made = set()
    for text in given or ():
        try:
            destination = Destination.of(text)
        except AddressRefused as error:
            raise ConfigError(f"Credential {name!r}: destination: {error.message}") from None
        if text.split("://", 1)[1].rstrip("/").count("/") or any(mark in text for mark in "?#*"):
            raise ConfigError(
                f"Credential {name!r}: {text!r} is more than scheme, host and port.",
                hint=f"Write {destination.scheme}://{destination.host}:{destination.port}",
            )
        made.add(destination)
    return frozenset(made)


def _lookup(name: str, fields: _Fields, shipped: Lookup | None) -> Lookup:
    base = shipped or Lookup(env=f"{name.upper()}_TOKEN", service="codemode", username=name)
    # A field that only one provider has says which provider is meant.
    provider = fields.provider
    if provider is None:
        meant = [
            kind
            for kind, value in (
                ("env", fields.env),
                ("file", fields.path),
                ("keyring", fields.service),
                ("command", fields.argv),
            )
            if value
        ]
        if len(meant) > 1:
            raise ConfigError(
                f"Credential {name!r} is looked up in several places: {', '.join(meant)}.",
                hint="Keep one, or set provider.",
            )
        provider = meant[0] if meant else base.provider  # type: ignore[assignment]
    assert provider is not None
    lookup = replace(
        base,
        provider=provider,
        env=fields.env or base.env,
        path=str(fields.path.expanduser()) if fields.path else base.path,
        service=fields.service or base.service or "codemode",
        username=fields.username if fields.username and provider == "keyring" else name,
        argv=fields.argv or base.argv,
    )
    missing = {"file": not lookup.path, "command": not lookup.argv, "env": not lookup.env}
    if missing.get(provider):
        field = {"file": "path", "command": "argv", "env": "env"}[provider]
        raise ConfigError(f"Credential {name!r}: provider {provider} needs {field}.")
    return lookup
