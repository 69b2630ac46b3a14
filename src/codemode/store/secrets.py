"""
Where secrets are looked up: environment, file, OS keyring, command.

A secret is a `Secret` from the moment it is read. No message here quotes what a
provider printed, and no exception keeps it in its chain.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from codemode.core.credential import Credential, Lookup, Secret
from codemode.errors import ConfigError, MissingSecret

COMMAND_S = 20.0
MAX_SECRET_BYTES = 64 * 1024
KEPT_VARIABLES = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "XDG_RUNTIME_DIR", "GNUPGHOME")
"""What a command that prints a secret sees of this process's environment."""


class SecretStore:
    """
    Finds secrets, once each; remembers them until a service says they have expired.

    Args:
        environment: Read at each lookup; `os.environ` unless a test says otherwise.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._held: dict[tuple[str, Lookup], Secret] = {}

    def __repr__(self) -> str:
        return f"SecretStore(<{len(self._held)} held>)"

    async def get(self, credential: Credential, *, fresh: bool = False) -> Secret:
        """
        The secret of *credential*.

        Args:
            fresh: Look it up anew, because the one held was not accepted.

        Raises:
            MissingSecret: With where it was looked for.
            ConfigError: If the place cannot be trusted, such as a file others can read.
        """
        key = (credential.name, credential.lookup)
        held = self._held.get(key)
        if held is not None and not fresh:
            return held
        found = await self._look(credential)
        if not found:
            raise MissingSecret(
                f"The secret of credential {credential.name!r} is not there.",
                hint=f"Put it in {credential.lookup}. codemode credentials list shows all.",
            )
        secret = self._held[key] = Secret(found)
        return secret

    async def has(self, credential: Credential) -> bool:
        """
        Whether there is a secret; it is not remembered.

        Raises:
            ConfigError: As `get`, but not for a missing one.
        """
        try:
            return bool(await self._look(credential))
        except MissingSecret:
            return False

    async def _look(self, credential: Credential) -> str:
        lookup = credential.lookup
        match lookup.provider:
            case "env":
                return self._environment.get(lookup.env, "").strip()
            case "file":
                return await asyncio.to_thread(_from_file, credential.name, Path(lookup.path))
            case "keyring":
                return await asyncio.to_thread(_from_keyring, credential.name, lookup)
            case "command":
                return await self._from_command(credential.name, lookup.argv)

    async def _from_command(self, name: str, argv: tuple[str, ...]) -> str:
        if not argv:
            raise ConfigError(f"Credential {name!r} has no command.", hint="Set its argv.")
        environment = {
            key: self._environment[key] for key in KEPT_VARIABLES if key in self._environment
        }
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
                limit=MAX_SECRET_BYTES,
            )
        except (OSError, ValueError):
            raise MissingSecret(
                f"The command of credential {name!r} cannot be started: {argv[0]}",
                hint="It is a list: the program, then its arguments.",
            ) from None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(COMMAND_S):
                printed = await process.stdout.read(MAX_SECRET_BYTES)
                code = await process.wait()
        except TimeoutError:
            raise MissingSecret(
                f"The command of credential {name!r} took more than {COMMAND_S:g} s."
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if code != 0:
            raise MissingSecret(
                f"The command of credential {name!r} ended with {code}.",
                hint=f"Try it by hand: {argv[0]} ...",
            )
        return _one_line(name, printed)


def _from_file(name: str, path: Path) -> str:
    try:
        # One descriptor for the check and the read, and nothing but a regular file.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise MissingSecret(
            f"The file of credential {name!r} cannot be read: {error.strerror}",
            hint=f"Look at {path}.",
        ) from None
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"The file of credential {name!r} is no regular file: {path}")
        if mode & 0o077:
            raise ConfigError(
                f"The file of credential {name!r} can be read by others: {path}",
                hint=f"chmod 600 {path}",
            )
        return _one_line(name, os.read(fd, MAX_SECRET_BYTES))
    finally:
        os.close(fd)


def _from_keyring(name: str, lookup: Lookup) -> str:
    import keyring  # starts a search for back ends, so only those who use it pay
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(lookup.service, lookup.username or name) or ""
    except KeyringError:
        raise MissingSecret(
            f"The keyring with credential {name!r} cannot be used.",
            hint="It may be locked, or this machine has none: use provider env, file or command.",
        ) from None


def set_in_keyring(lookup: Lookup, name: str, secret: str) -> None:
    """
    Put *secret* into the OS keyring.

    Raises:
        ConfigError: If there is no keyring that keeps it.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.set_password(lookup.service, lookup.username or name, secret)
    except KeyringError:
        raise ConfigError(
            "This machine has no usable keyring.",
            hint="Use provider env, file or command in codemode.toml.",
        ) from None


def _one_line(name: str, data: bytes) -> str:
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        text = "\n"
    if "\n" in text or "\0" in text:
        raise ConfigError(f"What credential {name!r} is looked up in is not one line of text.")
    return text
