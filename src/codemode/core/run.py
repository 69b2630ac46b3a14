"""
One run, as values: what goes into a sandbox, what crosses it, what comes out.

Nothing here does I/O. Engines take a `Job` and an `Answer` and give back an
`Outcome`; the service adds what only the host knows and returns a `RunResult`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from codemode.core.tool import Effect, JsonValue

Language: TypeAlias = Literal["typescript", "python"]
LANGUAGE_NAMES: Mapping[str, Language] = {
    "typescript": "typescript",
    "ts": "typescript",
    "mts": "typescript",
    "js": "typescript",
    "mjs": "typescript",
    "python": "python",
    "py": "python",
}
"""Every spelling of a language that is understood, file endings among them."""

Stream: TypeAlias = Literal["stdout", "stderr"]
Status: TypeAlias = Literal[
    "succeeded", "failed", "timed_out", "refused", "cancelled", "engine_lost"
]
CallState: TypeAlias = Literal["applied", "failed", "unknown", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What one run may use.

    Args:
        wall_s: From assignment to result, tool calls included.
        cpu_s: Processor time of the script itself.
        max_calls: Tool calls, refused and failed ones included.
        max_in_flight: Calls at once; further ones wait.
        max_log_bytes: UTF-8 bytes of stdout and stderr kept, together.
        max_result_bytes: UTF-8 bytes of the result as JSON.
        max_file_bytes: All files that may leave the workspace, together.
        disk_mib: Workspace and temporary files.
    """

    wall_s: float = 60.0
    cpu_s: float = 60.0
    memory_mib: int = 512
    disk_mib: int = 256
    max_pids: int = 128
    max_calls: int = 100
    max_in_flight: int = 32
    max_log_bytes: int = 256 * 1024
    max_result_bytes: int = 1024 * 1024
    max_file_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTool:
    """
    One line of a name table.

    Args:
        tool: Tool id, such as ``github.issues_create``.
        renames: Python keyword -> argument name on the wire, where they differ.
    """

    tool: str
    renames: Mapping[str, str] = field(default_factory=dict)


NameTable: TypeAlias = Mapping[str, Mapping[str, NamedTool]]
"""Toolset identifier -> function identifier -> tool, in the script's language.

Only the toolsets that the script uses; types never enter the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileData:
    """A workspace file. *path* is relative, ``/``-separated, without ``..``."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """
    What one sandbox is given.

    Args:
        source: The runnable form (`codemode.core.script.Script.runnable`).
        names: For the toolsets in use.
        input: What the script sees as ``input``.
        files: Put into the workspace before the script starts.
        collect_files: Return the files that the script made or changed.
    """

    run_id: str
    language: Language
    source: str
    names: NameTable
    input: JsonValue = None
    files: tuple[FileData, ...] = ()
    limits: Limits = field(default_factory=Limits)
    collect_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a sandbox asks for. Untrusted: *tool* and *args* are whatever a script sent."""

    id: int
    tool: str
    args: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """
    Why a call has no value; what a script catches as ``ToolError``.

    Args:
        code: Stable name, the ``code`` of a class in `codemode.errors`.
        status: The upstream's own status, if it gave one.
        retryable: The same call may work later, and repeating it is safe.
        hint: Valid parameters, nearest names, or what to do next.
    """

    code: str
    message: str
    status: int | None = None
    retryable: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answer to a `ToolCall`: *value*, or *error*."""

    value: JsonValue = None
    error: CallError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """
    A program to run inside the sandbox, next to the script.

    Args:
        binaries: Names to try in order; the first that the image has is run.
        argv: Arguments after the program's name. Never a shell string.
        outputs: Workspace paths the program is expected to make.
    """

    binaries: tuple[str, ...]
    argv: tuple[str, ...] = ()
    stdin: bytes = b""
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0
    max_output_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """
    How a `Command` ended.

    Args:
        exit_code: Negative for a signal, as in `subprocess`; None if it was not found.
        timed_out: The deadline passed and it was killed.
        truncated: stdout or stderr was longer than allowed.
    """

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    truncated: bool = False


class Workspace(Protocol):
    """The inside of a sandbox that has files and processes. Paths as in `FileData`."""

    async def run_command(self, command: Command) -> CommandResult: ...

    async def read_file(self, path: str, *, max_bytes: int) -> bytes: ...

    async def write_file(self, path: str, data: bytes) -> None: ...


Answer: TypeAlias = Callable[[ToolCall, Workspace | None], Awaitable[Reply]]
"""Answers one call. Never raises for what a call can end in; None: no workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptError:
    """
    Why a script has no value.

    Args:
        code: ``exception``, ``syntax``, ``timeout``, ``out_of_memory``, ``not_awaited``,
            ``bad_result``, ``result_too_large``, ``crashed``, ``cancelled`` or a call's code.
        message: Type and text of the error, causes and grouped errors included.
        line: In the source as submitted (an engine: as in `Job.source`), from 1; 0 if unknown.
        column: From 1, in code points; 0 if unknown.
    """

    code: str
    message: str
    line: int = 0
    column: int = 0
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """Something a script printed."""

    stream: Stream
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run cost. Zero where an engine cannot measure it."""

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_memory_mib: float = 0.0
    n_calls: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What an engine says of a job.

    Args:
        has_value: False if the script returned nothing (not even null).
        error: Set unless *status* is ``succeeded``.
        truncated: What was cut, each in a few words.
    """

    status: Status
    value: JsonValue = None
    has_value: bool = False
    error: ScriptError | None = None
    logs: tuple[LogLine, ...] = ()
    files: tuple[FileData, ...] = ()
    usage: Usage = field(default_factory=Usage)
    truncated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """
    One call as the run's answer lists it.

    Args:
        seq: Order of arrival at the host, from 1.
        state: ``applied`` happened; ``failed`` the service said no; ``unknown`` may
            have happened; ``refused`` was never sent.
        credential: Name of the credential used, or None.
        received_bytes: Length of the upstream's answer.
    """

    seq: int
    tool: str
    effect: Effect
    state: CallState
    status: int | None = None
    duration_ms: float = 0.0
    received_bytes: int = 0
    sent_bytes: int = 0
    credential: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """
    One thing a check found.

    Args:
        line: In the script as submitted, from 1; columns count code points from 1.
        code: The checker's own (``TS2345``, ``invalid-argument-type``) or ours (``no-await``).
        tool: Id of the tool concerned, if one is.
        signature: That tool's signature in the script's language.
        suggestions: Nearest names, best first.
    """

    line: int
    column: int
    severity: Literal["error", "warning", "note"]
    code: str
    message: str
    end_line: int = 0
    end_column: int = 0
    tool: str | None = None
    signature: str | None = None
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewCall:
    """
    A tool that a script names.

    Args:
        args: Literal arguments where they can be read off the script.
        complete: Every argument is literal.
    """

    tool: str
    effect: Effect
    line: int
    column: int
    args: Mapping[str, JsonValue] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """
    Which tools a script may call. A cap: outbound refuses any other.

    Args:
        open_reasons: Why the list may be incomplete (dynamic access); an open
            preview is never approved as a whole.
    """

    calls: tuple[PreviewCall, ...] = ()
    open_reasons: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        return bool(self.open_reasons)

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(call.tool for call in self.calls)

    def by_effect(self) -> dict[str, list[str]]:
        """``{"read": [...], "write": [...], "destructive": [...]}``, ids sorted."""
        groups: dict[str, set[str]] = {"read": set(), "write": set(), "destructive": set()}
        for call in self.calls:
            groups[call.effect].add(call.tool)
        return {effect: sorted(ids) for effect, ids in groups.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """
    Answer of a check.

    Args:
        diagnostics: In submitted lines and columns, sorted; notes included.
        engine: The engine that the script was checked for.
    """

    language: Language
    engine: str
    diagnostics: tuple[Diagnostic, ...] = ()
    preview: Preview = field(default_factory=Preview)

    @property
    def is_clean(self) -> bool:
        """No diagnostic is an error."""
        return all(found.severity != "error" for found in self.diagnostics)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The one answer of a run; every edge renders this."""

    run_id: str
    status: Status
    engine: str = ""
    runtime: str = ""
    value: JsonValue = None
    has_value: bool = False
    error: ScriptError | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    preview: Preview = field(default_factory=Preview)
    calls: tuple[CallRecord, ...] = ()
    logs: tuple[LogLine, ...] = ()
    files: tuple[FileData, ...] = ()
    usage: Usage = field(default_factory=Usage)
    truncated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Engine(Protocol):
    """
    What makes sandboxes. One module of `codemode.sandbox` each.

    Args:
        capabilities: What it can do, of `CAPABILITIES`; the contract suite
            tests exactly these and fails on an undeclared skip.
    """

    name: str
    runtime: str
    capabilities: frozenset[str]

    async def start(self) -> None:
        """
        Make ready and warm up; sweep what an earlier owner left behind.

        Raises:
            EngineUnavailable: With what is missing and how to get it.
        """
        ...

    async def run(self, job: Job, answer: Answer) -> Outcome:
        """
        Run *job* once. Cancelling this coroutine ends the sandbox.

        Returns a typed `Outcome` for everything a script can do, including
        killing its own sandbox (``engine_lost``).

        Raises:
            EngineError: Only if no sandbox could be had; the script did not start.
        """
        ...

    async def close(self) -> None:
        """Remove every sandbox. Idempotent."""
        ...


CAPABILITIES = frozenset(
    {
        "typescript",
        "python",
        "files",  # a workspace: files in and out, read and written by scripts
        "commands",  # runs programs, so cli and python bindings work
        "full_python",  # CPython: class inheritance, try/except of ToolError, generators
        "memory_limit",
        "cpu_limit",
        "process_isolation",  # an escape from the language runtime is still contained
    }
)
