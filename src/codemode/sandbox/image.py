"""
The sandbox image: its name, its build, and the base it stands on.

The name holds a hash of everything that goes into the image, so an image that
is older than `sandbox_image/` is simply not found and never used by mistake.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from requests.exceptions import RequestException

from codemode.core.frames import PROTOCOL
from codemode.errors import ConfigError, EngineUnavailable

Target: TypeAlias = Literal["base", "full"]
Progress: TypeAlias = Callable[[str], None]

REPOSITORY = "codemode-sandbox"
BASE = "debian:trixie-slim"
PROTOCOL_LABEL = "codemode.protocol"
MAX_AGE_S = 7200.0
"""A container ends itself after this long, whatever happened to its host."""
BUILD_S = 1800
PULL_S = 180
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """
    What `build_image` made.

    Args:
        base: ``present``, ``pulled`` or ``made`` (with mmdebstrap, because no registry answered).
    """

    name: str
    id: str
    size_bytes: int
    base: Literal["present", "pulled", "made"]


def folder() -> Path:
    """`sandbox_image/`: inside the installed package, or beside ``src/`` in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "shipped" / "sandbox_image"
    return installed if installed.is_dir() else package.parent.parent / "sandbox_image"


def default_name(target: Target = "full") -> str:
    """Name of the image that belongs to this version of `sandbox_image/` and the protocol."""
    digest = hashlib.sha256(f"protocol {PROTOCOL}\n".encode())
    for path, data in _contents(folder()):
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return f"{REPOSITORY}:{target}-{digest.hexdigest()[:12]}"


def seccomp_profile() -> str:
    """The profile as JSON text; the daemon may be on another machine."""
    return (folder() / "seccomp.json").read_text(encoding="utf-8")


def default_ca_bundle(environ: Mapping[str, str]) -> Path | None:
    """The CA bundle that this machine's own programs are told to use, if any."""
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        if environ.get(name) and Path(environ[name]).is_file():
            return Path(environ[name])
    return None


def build_image(
    ca_bundle: Path | None = None,
    target: Target = "full",
    *,
    progress: Progress = lambda line: None,
    docker_host: str | None = None,
    base: str = BASE,
) -> BuiltImage:
    """
    Build the sandbox image with the classic or BuildKit builder of the daemon.

    Args:
        ca_bundle: Trusted while pip fetches packages behind a TLS-inspecting
            proxy; None uses ``SSL_CERT_FILE`` or ``REQUESTS_CA_BUNDLE``. It is
            used in stages that are thrown away, so none of it is in the image.
        progress: Takes one line at a time.
        base: Image to start from. Made with mmdebstrap where it cannot be pulled.

    Raises:
        EngineUnavailable: No daemon, no base, or a step of the build failed.
        ConfigError: *ca_bundle* cannot be read.
    """
    bundle = ca_bundle or default_ca_bundle(os.environ)
    try:
        certificates = bundle.read_bytes() if bundle else b""
    except OSError as error:
        raise ConfigError(
            f"The CA bundle {bundle} cannot be read: {error.strerror}.",
            hint="Name a PEM file with --ca-bundle.",
        ) from None
    name = default_name(target)
    try:
        options: dict[str, Any] = docker.utils.kwargs_from_env()
        if docker_host is not None:
            options = {"base_url": docker_host}
        client = docker.APIClient(version="auto", timeout=BUILD_S, **options)
        try:
            origin = _have_base(client, base, progress)
            if bundle:
                progress(f"pip trusts {bundle} for this build; the image keeps none of it")
            _build(client, name, target, base, certificates, progress)
            found = client.inspect_image(name)
        finally:
            client.close()
    except (DockerException, RequestException) as error:
        raise EngineUnavailable(
            f"The image was not built: {error}",
            hint="Is Docker running? `docker version` tells; then run it again.",
        ) from None
    size = int(found["Size"])
    progress(f"{name} is ready: {size / 1e6:.0f} MB")
    return BuiltImage(name=name, id=str(found["Id"]), size_bytes=size, base=origin)


def _build(
    client: docker.APIClient,
    name: str,
    target: Target,
    base: str,
    certificates: bytes,
    progress: Progress,
) -> None:
    progress(f"building {name}")
    arguments = {key: os.environ[key] for key in PROXIES if os.environ.get(key)}
    last = ""
    for event in client.build(
        fileobj=_context(certificates),
        custom_context=True,
        encoding="gzip",
        tag=name,
        target=target,
        buildargs={"BASE": base, **arguments},
        labels={PROTOCOL_LABEL: str(PROTOCOL), "codemode.target": target},
        network_mode="host",
        rm=True,
        forcerm=True,
        decode=True,
    ):
        if "error" in event:
            raise EngineUnavailable(
                f"Building the image failed: {str(event['error']).strip()}\n{last}".rstrip(),
                hint="Behind a TLS-inspecting proxy, name its CA with --ca-bundle.",
            )
        for line in str(event.get("stream") or "").splitlines():
            if line.startswith("Step "):
                progress(line.strip())
            if line.strip():
                last = line.strip()


def _context(certificates: bytes) -> io.BytesIO:
    """The build context: the folder's files and the CA bundle, owned by root, without dates."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for path, data in [*_contents(folder()), ("ca-bundle.pem", certificates)]:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    packed.seek(0)
    return packed


def _contents(root: Path) -> Iterable[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(root).as_posix(), path.read_bytes()


def _have_base(
    client: docker.APIClient, base: str, progress: Progress
) -> Literal["present", "pulled", "made"]:
    try:
        client.inspect_image(base)
        return "present"
    except ImageNotFound:
        pass
    progress(f"pulling {base}")
    try:
        client.timeout = PULL_S
        for event in client.pull(*base.split(":", 1), stream=True, decode=True):
            if "error" in event:
                raise APIError(event["error"])
        client.inspect_image(base)
        return "pulled"
    except (DockerException, RequestException) as error:
        reason = (str(error).splitlines() or ["no answer"])[0][:200]
        progress(f"{base} cannot be pulled ({reason}); making it with mmdebstrap instead")
    finally:
        client.timeout = BUILD_S
    _make_base(client, base, progress)
    return "made"


def _make_base(client: docker.APIClient, base: str, progress: Progress) -> None:
    """Debian's packages, put together here and imported under the name that was asked for."""
    program = shutil.which("mmdebstrap")
    if program is None:
        raise EngineUnavailable(
            f"{base} cannot be pulled and mmdebstrap is not installed to make it.",
            hint="apt-get install mmdebstrap (or make the registry reachable).",
        )
    suite = base.split(":", 1)[1].split("-")[0]
    slim = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    with tempfile.TemporaryDirectory(prefix="codemode-base-") as temporary:
        packed = Path(temporary) / "base.tar"
        command = [program, "--variant=minbase", "--include=ca-certificates", *slim, suite]
        process = subprocess.Popen(
            [*command, str(packed)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", *PROXIES)},
        )
        assert process.stderr is not None
        said = ""
        deadline = threading.Timer(BUILD_S, process.kill)
        deadline.start()
        try:
            for line in process.stderr:
                said = line.strip() or said
                if line.startswith("I: "):
                    progress(f"mmdebstrap: {line[3:].strip()}")
            failed = process.wait() != 0
        finally:
            deadline.cancel()
        if failed:
            raise EngineUnavailable(
                f"mmdebstrap could not make {base}: {said}",
                hint="It needs a Debian mirror and root (or unprivileged user namespaces).",
            )
        repository, _, tag = base.partition(":")
        client.import_image_from_file(str(packed), repository=repository, tag=tag)
    progress(f"{base} was made with mmdebstrap, not pulled")
