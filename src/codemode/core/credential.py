"""Credentials: what is attached, where it may go, and how it never leaks."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn, TypeAlias
from urllib.parse import quote

from codemode.core.address import Destination
from codemode.core.call import HttpRequest
from codemode.core.scrub import Scrubber
from codemode.errors import ConfigError, CredentialOutOfScope

Scheme: TypeAlias = Literal["bearer", "basic", "header", "query"]
Provider: TypeAlias = Literal["env", "file", "keyring", "command"]

_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class Secret:
    """
    A string that does not print, compare by order, pickle or copy.

    >>> Secret("hunter2")
    Secret('***')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value. Called in `inject` and nowhere else; a test counts."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not pickled or copied")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """
    Where a secret is, not the secret.

    Args:
        provider: Which of the fields below counts.
        env: Environment variable.
        path: File that only its owner can read.
        service: Keyring service; *username* is its account.
        argv: Program that prints the secret.
    """

    provider: Provider = "env"
    env: str = ""
    path: str = ""
    service: str = ""
    username: str = ""
    argv: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.provider:
            case "env":
                return f"environment variable {self.env}"
            case "file":
                return f"file {self.path}"
            case "keyring":
                return f"keyring entry {self.service}/{self.username}"
            case "command":
                return f"command {self.argv[0] if self.argv else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """
    Args:
        name: What a toolset's binding refers to.
        scheme: How the secret is attached.
        key: Header or query parameter; ``Authorization`` for bearer and basic.
        username: For ``basic``: the secret is the password. "" if the secret
            already is ``user:password``.
        prefix: Put before the secret in a header, such as ``token ``.
        destinations: Exact scheme, host and port it may be sent to. Never empty.
        lookup: Where the secret is.
    """

    name: str
    scheme: Scheme
    key: str = "Authorization"
    username: str = ""
    prefix: str = ""
    destinations: frozenset[Destination]
    lookup: Lookup = field(default_factory=Lookup)
    description: str = ""

    def covers(self, url: str) -> bool:
        """Whether the secret may be sent to *url*."""
        return Destination.of(url) in self.destinations


def inject(
    request: HttpRequest, credential: Credential, secret: Secret
) -> tuple[HttpRequest, Scrubber]:
    """
    Attach *secret*; also give what removes it, raw and rendered, from answers.

    Raises:
        CredentialOutOfScope: If scheme, host or port is not one the credential names.
        ConfigError: If the secret cannot stand in a header.
    """
    if not credential.covers(request.url):
        raise CredentialOutOfScope(
            f"Credential {credential.name!r} may not be sent to {Destination.of(request.url)}.",
            hint=f"It may go to {', '.join(sorted(map(str, credential.destinations)))}.",
        )
    value = secret.reveal()
    rendered: tuple[str, ...] = ()
    if credential.scheme == "query":
        joint = "&" if "?" in request.url else "?"
        pair = f"{quote(credential.key, safe='')}={quote(value, safe='')}"
        return replace(request, url=f"{request.url}{joint}{pair}"), Scrubber([value])
    if credential.scheme == "basic":
        plain = f"{credential.username}:{value}" if credential.username else value
        encoded = b64encode(plain.encode()).decode()
        rendered, header = (encoded, plain), f"Basic {encoded}"
    elif credential.scheme == "bearer":
        header = f"{credential.prefix or 'Bearer '}{value}"
    else:
        header = f"{credential.prefix}{value}"
    if not _HEADER_VALUE.fullmatch(header):
        raise ConfigError(
            f"The secret of credential {credential.name!r} cannot stand in a header.",
            hint="It holds a line break, an edge space or a character that is not ASCII.",
        )
    # A header of the same name from the row would make two; the credential's stands.
    kept = tuple(item for item in request.headers if item[0].lower() != credential.key.lower())
    return replace(request, headers=(*kept, (credential.key, header))), Scrubber([value, *rendered])
