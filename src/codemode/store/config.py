"""
The operator's one file, ``codemode.toml``: read strictly, defaults stated here.

Unknown keys are errors that name file and key. Nothing an agent sends reaches this.
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from codemode.core.run import Limits
from codemode.errors import ConfigError


class Section(BaseModel):
    """A table of the file. Unknown keys are errors; values never change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineSection(Section):
    """Which engine makes sandboxes."""

    name: Literal["auto", "container", "isolate"] = "auto"
    runtime: Literal["runc", "runsc"] = "runc"
    image: str | None = None
    docker_host: str | None = None
    pool_size: int = Field(default=1, ge=0, le=500)


class LimitsSection(Section):
    """What one run may use; `codemode.core.run.Limits` explains each."""

    wall_s: float = Field(default=60, gt=0, le=3600)
    cpu_s: float = Field(default=60, gt=0, le=3600)
    memory_mib: int = Field(default=512, ge=64, le=65536)
    disk_mib: int = Field(default=256, ge=1, le=65536)
    max_pids: int = Field(default=128, ge=16, le=4096)
    max_calls: int = Field(default=100, ge=0, le=100_000)
    max_in_flight: int = Field(default=32, ge=1, le=1024)
    max_log_bytes: int = Field(default=256 * 1024, ge=0)
    max_result_bytes: int = Field(default=1024 * 1024, ge=1)
    max_file_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    call_timeout_s: float = Field(default=30, gt=0, le=3600)
    max_response_bytes: int = Field(default=8 * 1024 * 1024, ge=1)

    def for_run(self, *, wall_s: float | None = None) -> Limits:
        """The limits of one run; *wall_s* may only shorten."""
        values = self.model_dump(exclude={"call_timeout_s", "max_response_bytes"})
        if wall_s is not None:
            values["wall_s"] = min(wall_s, self.wall_s) if wall_s > 0 else self.wall_s
        return Limits(**values)


class PolicySection(Section):
    """Beside the default policy (reads are allowed), or instead of it with *file*."""

    file: Path | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class CredentialSection(Section):
    """
    Where a shipped credential's secret is, and narrower or other destinations.

    A credential that is not shipped needs *scheme* and *destinations* too.
    """

    provider: Literal["env", "file", "keyring", "command"] | None = None
    env: str | None = None
    path: Path | None = None
    service: str | None = None
    username: str | None = None
    argv: tuple[str, ...] | None = None
    destinations: tuple[str, ...] | None = None
    scheme: Literal["bearer", "basic", "header", "query"] | None = None
    key: str | None = None


class ToolsetSection(Section):
    """Where a toolset's services are, and values for ``{variables}`` in its addresses."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+")
    variables: dict[str, str] = Field(default_factory=dict)


class AuditSection(Section):
    """The audit file. Arguments and bodies stay out unless the operator asks for them."""

    file: Path | None = None
    include_arguments: bool = False


class MeasureSection(Section):
    """Rules of one's own for ``codemode measure``; they come before the shipped ones."""

    rules: tuple[dict[str, Any], ...] = ()
    wrappers: tuple[dict[str, Any], ...] = ()
    argument_errors: tuple[str, ...] = ()
    other_errors: tuple[str, ...] = ()
    shells: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()


class ServerSection(Section):
    """``codemode serve``. The key is looked up in this environment variable."""

    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    api_key_env: str = "CODEMODE_API_KEY"


def _address(text: str) -> str:
    """An IP address, or one with a port: ``127.0.0.1``, ``127.0.0.1:8080``, ``[::1]:8080``."""
    host, _, port = text.rpartition(":") if text.count(":") == 1 or "]" in text else (text, "", "0")
    try:
        ipaddress.ip_address(host.strip("[]"))
        if not 0 <= int(port) <= 65535:
            raise ValueError
    except ValueError:
        raise ValueError(
            "must be an IP address, with or without a port, such as 127.0.0.1:8080"
        ) from None
    return text


class Config(Section):
    """The whole file."""

    directory: Path | None = None
    state: Path | None = None
    allow_addresses: tuple[Annotated[str, AfterValidator(_address)], ...] = ()
    ca_bundle: Path | None = None
    engine: EngineSection = EngineSection()
    limits: LimitsSection = LimitsSection()
    policy: PolicySection = PolicySection()
    credentials: dict[str, CredentialSection] = Field(default_factory=dict)
    toolsets: dict[str, ToolsetSection] = Field(default_factory=dict)
    mcp_servers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    audit: AuditSection = AuditSection()
    measure: MeasureSection = MeasureSection()
    server: ServerSection = ServerSection()

    @property
    def state_folder(self) -> Path:
        """Where ledger, audit and run records are kept."""
        if self.state is not None:
            return self.state
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return Path(home) / "codemode"


FILE_NAME = "codemode.toml"


def read_config(path: Path | None = None) -> Config:
    """
    Read *path*; without one ``codemode.toml`` here if it exists, else the defaults.

    Relative paths in the file are taken from the file's own folder.

    Raises:
        ConfigError: Naming file, line or key, and what is allowed there.
    """
    if path is None:
        path = Path(FILE_NAME)
        if not path.is_file():
            return Config()
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint="codemode init writes one.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    return parse_config(raw, origin=str(path), base=path.parent, text=text)


_PLAIN = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "path_type": "must be a path",
    "string_pattern_mismatch": "must be an address that begins with http:// or https://",
}
"""What is wrong, in an operator's words; other kinds say it well enough themselves."""


def parse_config(raw: dict[str, Any], *, origin: str, base: Path, text: str = "") -> Config:
    """
    Check values already read; *origin* names them in messages.

    Args:
        text: What they were read from, to name the line.

    Raises:
        ConfigError: On the first unknown key or bad value, never with the value itself.
    """
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        origin += _line(text, first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(_known(raw, first["loc"]))
            raise ConfigError(
                f"{origin}: unknown key {key!r}.", hint=f"Known here: {known}."
            ) from None
        why = _PLAIN.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise ConfigError(f"{origin}: {key}: {why}.") from None
    return _anchored(config, base)


def _line(text: str, loc: tuple[int | str, ...]) -> str:
    """``, line N`` of a key, or "". tomllib keeps no positions, so it is sought."""
    keys = [str(part) for part in loc if isinstance(part, str)]
    section = ".".join(keys[:-1])
    here = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            here = header[1].replace('"', "")
            if here == ".".join(keys):
                return f", line {number}"
        elif here == section and re.match(rf"\s*[\"']?{re.escape(keys[-1])}[\"']?\s*=", line):
            return f", line {number}"
    return ""


def _known(raw: dict[str, Any], loc: tuple[int | str, ...]) -> list[str]:
    """Keys that exist where an unknown one stood."""
    model: Any = Config
    for part in loc[:-1]:
        model = getattr(model, "model_fields", {}).get(part)
        if model is None:
            break
        annotation = model.annotation
        arguments = getattr(annotation, "__args__", ())
        model = arguments[-1] if arguments else annotation
    if model is None:  # below a free-form table: the last part names a section by example
        model = {"credentials": CredentialSection, "toolsets": ToolsetSection}.get(str(loc[0]))
    return sorted(getattr(model, "model_fields", {}))


def _anchored(config: Config, base: Path) -> Config:
    """Relative paths resolved against the file's folder."""

    def at(path: Path | None) -> Path | None:
        return None if path is None else (base / path.expanduser())

    return config.model_copy(
        update={
            "directory": at(config.directory),
            "state": at(config.state),
            "ca_bundle": at(config.ca_bundle),
            "policy": config.policy.model_copy(update={"file": at(config.policy.file)}),
            "mcp_servers": {
                name: _anchored_server(table, base) for name, table in config.mcp_servers.items()
            },
            "audit": config.audit.model_copy(update={"file": at(config.audit.file)}),
            "credentials": {
                name: section.model_copy(update={"path": at(section.path)})
                for name, section in config.credentials.items()
            },
        }
    )


def _anchored_server(table: dict[str, Any], base: Path) -> dict[str, Any]:
    """An MCP server's folders; what is no text is left for its own check to refuse."""
    placed = dict(table)
    if isinstance(cwd := table.get("cwd"), str):
        placed["cwd"] = str(base / Path(cwd).expanduser())
    if isinstance(roots := table.get("roots"), list):
        placed["roots"] = [
            str(base / Path(root).expanduser()) if isinstance(root, str) else root for root in roots
        ]
    return placed
