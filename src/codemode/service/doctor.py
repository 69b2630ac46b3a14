"""``codemode doctor`` and ``codemode image build``: what works here, and what to do about it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from codemode import bindings, sandbox
from codemode.check.toolchain import toolchain_status
from codemode.core.run import Job, Language, Reply, ToolCall, Workspace
from codemode.errors import CodemodeError, ConfigError
from codemode.sandbox import image
from codemode.sandbox.container import ContainerEngine
from codemode.service.directory import read_credentials, read_directory
from codemode.store.config import Config
from codemode.store.secrets import SecretStore, set_in_keyring

PROBE_S = 60.0
"""How long one probe may take before it counts as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One thing that was looked at.

    Args:
        needed: Without it a script cannot be checked and run at all.
        fix: What to do, or "".
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def examine(config: Config) -> list[Finding]:
    """Look at everything a run needs. Never raises for what it finds."""
    looked = await asyncio.gather(
        _checkers(),
        _isolate(),
        _container(config, "runc"),
        _container(config, "runsc"),
        _directory(config),
        _secrets(config),
    )
    return [finding for findings in looked for finding in findings]


async def _checkers() -> list[Finding]:
    names = {"typescript": "typescript checker", "ty": "python checker"}
    return [
        Finding(
            name=names.get(status.name, status.name),
            ok=status.ok,
            detail=status.detail,
            fix=status.hint or "Install codemode again.",
            needed=True,
        )
        for status in await toolchain_status(install=True)
    ]


async def _answer(call: ToolCall, workspace: Workspace | None) -> Reply:
    del call, workspace
    return Reply()


async def _isolate() -> list[Finding]:
    engine = sandbox.load("isolate")(warm=0)
    sources: dict[Language, str] = {
        "typescript": "export default async () => { return 1 + 1; }",
        "python": "return 1 + 1",
    }

    async def probe() -> str:
        await engine.start()
        for language, source in sources.items():
            job = Job(run_id="doctor", language=language, source=source, names={})
            outcome = await engine.run(job, _answer)
            if outcome.value != 2:
                raise CodemodeError(f"{language} does not run: {outcome.error}")
        return "runs TypeScript and Python"

    try:
        return [await _probed("isolate engine", probe(), needed=True)]
    finally:
        await engine.close()


async def _container(config: Config, runtime: str) -> list[Finding]:
    section = config.engine
    engine = ContainerEngine(section.image, runtime, pool_size=0, docker_host=section.docker_host)
    try:
        found = await engine.availability()
        name = f"container engine, {runtime}"
        if not found.ok:
            needed = section.name == "container" and section.runtime == runtime
            return [Finding(name=name, ok=False, detail=found.reason, fix=found.fix, needed=needed)]
        detail = "Docker answers and the image is there"
        return [Finding(name=name, ok=True, detail=detail)]
    finally:
        await engine.close()


async def _directory(config: Config) -> list[Finding]:
    async def probe() -> str:
        directory = await asyncio.to_thread(read_directory, config, bindings.load_all())
        if directory.quarantined:
            first = directory.quarantined[0]
            n_bad = len(directory.quarantined)
            raise CodemodeError(
                f"{len(directory)} tools; {n_bad} rows quarantined, first {first}",
                hint="codemode generate --strict lists all of them.",
            )
        return f"{len(directory)} tools in {len(directory.toolsets)} toolsets"

    return [await _probed("directory", probe(), needed=False)]


async def _secrets(config: Config) -> list[Finding]:
    try:
        states = await credential_states(config)
    except CodemodeError as error:
        return [
            Finding(name="credentials", ok=False, detail=error.message, fix=error.hint, needed=True)
        ]
    return [
        Finding(
            name=f"credential {state['name']}",
            ok=state["found"],
            detail="found" if state["found"] else state["problem"],
            fix=f"Set it in {state['provider']}, or leave it: only its tools need it.",
        )
        for state in states
    ]


async def _probed(name: str, probe: Awaitable[str], *, needed: bool) -> Finding:
    try:
        async with asyncio.timeout(PROBE_S):
            return Finding(name=name, ok=True, detail=await probe, needed=needed)
    except CodemodeError as error:
        fix = error.hint or "Install codemode again."
        return Finding(name=name, ok=False, detail=error.message, fix=fix, needed=needed)
    except TimeoutError:
        detail = f"no answer within {PROBE_S:g} s"
        return Finding(name=name, ok=False, detail=detail, fix="Try again.", needed=needed)


async def credential_states(config: Config) -> list[dict[str, Any]]:
    """
    Every credential and whether its secret is found; never the secret.

    Returns ``[{name, scheme, destinations, provider, found, problem}]``.

    Raises:
        ConfigError: If the credentials file or the config cannot be used.
    """
    store = SecretStore()
    states = []
    for name, credential in sorted(read_credentials(config).items()):
        problem = ""
        try:
            if not await store.has(credential):
                problem = "not set"
        except CodemodeError as error:
            problem = error.message
        states.append(
            {
                "name": name,
                "scheme": credential.scheme,
                "destinations": sorted(str(place) for place in credential.destinations),
                "provider": str(credential.lookup),
                "found": not problem,
                "problem": problem,
            }
        )
    return states


def keep_secret(config: Config, name: str, secret: str) -> str:
    """
    Put a secret into the operating system's keyring. Returns where it is.

    Raises:
        ConfigError: If there is no such credential, it is looked up elsewhere, or there
            is no usable keyring.
    """
    known = read_credentials(config)
    if name not in known:
        raise ConfigError(
            f"There is no credential {name!r}.", hint=f"Known: {', '.join(sorted(known))}."
        )
    if not secret:
        raise ConfigError("The secret is empty.", hint="Type it, or pipe it in.")
    lookup = known[name].lookup
    if lookup.provider != "keyring":
        raise ConfigError(
            f"Credential {name!r} is looked up in {lookup}, not in the keyring.",
            hint=f'Put provider = "keyring" under [credentials.{name}] in codemode.toml.',
        )
    set_in_keyring(lookup, name, secret)
    return f"keyring entry {lookup.service}/{lookup.username or name}"


async def build_image(
    config: Config, *, ca_bundle: Path | None, full: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """
    Build the sandbox image, unless it is there already.

    Returns ``{name, id, size_mib, base}``.

    Raises:
        EngineUnavailable: If no daemon answers or a step fails.
    """
    built = await asyncio.to_thread(
        image.build_image,
        ca_bundle or image.default_ca_bundle(os.environ),
        "full" if full else "base",
        progress=say,
        docker_host=config.engine.docker_host,
    )
    return {
        "name": built.name,
        "id": built.id,
        "size_mib": round(built.size_bytes / 1024 / 1024),
        "base": built.base,
    }
