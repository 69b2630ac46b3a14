"""One service object: a directory, its policy and its engines, and the verbs over them."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from codemode.core.policy import Policy, Review, review
from codemode.core.render import result_json
from codemode.core.run import (
    Answer,
    CallError,
    CallRecord,
    CheckReport,
    Diagnostic,
    Engine,
    FileData,
    Job,
    Language,
    Outcome,
    Preview,
    Reply,
    RunResult,
    ScriptError,
    ToolCall,
    Workspace,
)
from codemode.core.script import Script
from codemode.core.search import MAX_QUERY_CHARS
from codemode.core.tool import RESERVED_TOOLSET, Directory, JsonValue
from codemode.core.validate import check_json
from codemode.errors import BadArguments, CodemodeError, EngineError
from codemode.service.wiring import Chosen, Parts, open_parts
from codemode.store.config import Config, read_config

Approve = Callable[[Preview], Awaitable[bool]]
"""Asks a person about a preview, once, before anything runs."""

DRAIN_S = 10.0
"""How long calls in flight are awaited after a run has ended some other way."""


MAX_NAMES = 100
MAX_NEAREST = 5
"""Names that one ``describe`` takes, and unknown ones that it finds neighbours for."""


class Codemode:
    """
    Open it, use the verbs, close it.

    >>> async with Codemode.open() as codemode:  # doctest: +SKIP
    ...     result = await codemode.run("return 1 + 1", language="python")
    ...     assert result.value == 2
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: Config | Path | None = None, *, engine: Engine | None = None
    ) -> AsyncIterator[Codemode]:
        """
        A service that lives as long as the ``async with`` block.

        Args:
            config: A `Config`, the path of a ``codemode.toml``, or None for the one
                in the current folder (else the defaults).
            engine: Used for every run instead of the configured ones, such as
                `codemode.testing.FakeEngine`.

        Raises:
            ConfigError, DirectoryError: If either cannot be used as written.
        """
        settings = config if isinstance(config, Config) else read_config(config)
        parts = await open_parts(settings, engine=engine)
        try:
            yield cls(parts)
        finally:
            await parts.close()

    @property
    def directory(self) -> Directory:
        """All tools in use, and the rows that were left out."""
        return self._parts.directory

    # -- discovery ---------------------------------------------------------------------------

    def search(
        self, query: str, *, limit: int = 10, language: Language = "typescript"
    ) -> dict[str, Any]:
        """
        Best tools for *query*, ranked; an empty query lists them.

        Returns ``{query, n_shown, n_matching, tools: [{tool, path, signature,
        description, when_to_use, effect}]}``; *path* is callable as it stands.
        """
        found = self._parts.index.search(query, limit=max(1, limit))
        target = self._parts.target(language)
        return {
            "query": query,
            "n_shown": len(found.tools),
            "n_matching": found.n_matching,
            "tools": [
                {
                    "tool": tool.id,
                    "path": self._parts.path(tool, language),
                    "signature": target.signature(tool),
                    "description": tool.description,
                    "when_to_use": tool.when_to_use,
                    "effect": tool.effect,
                }
                for tool in found.tools
            ],
        }

    def describe(
        self, names: Iterable[str], *, language: Language = "typescript"
    ) -> dict[str, Any]:
        """
        Full declarations, and for unknown names the nearest known ones.

        Args:
            names: Tool ids (``github.issues_create``) or callable paths in either language.

        Returns ``{tools: [{tool, path, declaration}], unknown: [{name, nearest}]}``.
        """
        target = self._parts.target(language)
        tools: list[dict[str, Any]] = []
        unknown: list[dict[str, Any]] = []
        for name in names:
            tool_id = self._parts.paths.get(name, name)
            if tool_id in self.directory:
                tool = self.directory.get(tool_id)
                path = self._parts.path(tool, language)
                declaration = target.declaration(tool)
                tools.append({"tool": tool.id, "path": path, "declaration": declaration})
            else:
                # Looking for what was meant costs time, and a script may ask often.
                near = self.directory.nearest(name) if len(unknown) < MAX_NEAREST else ()
                unknown.append({"name": name, "nearest": list(near)})
        return {"tools": tools, "unknown": unknown}

    # -- check -------------------------------------------------------------------------------

    async def check(
        self,
        script: str,
        *,
        language: Language | None = None,
        engine: str | None = None,
    ) -> CheckReport:
        """
        Type-check *script* without running anything.

        Args:
            language: None to tell it from the text.
            engine: ``auto``, ``container`` or ``isolate``; None for the configured one.

        Raises:
            CheckUnavailable: If the checker is missing or broken.
            EngineUnavailable: If the engine asked for cannot start here.
        """
        chosen = await self._parts.choose(engine, runtime=None)
        normalised = await asyncio.to_thread(self._parts.normalise, script, language)
        return await self._parts.check(normalised, engine=chosen.engine)

    # -- run ---------------------------------------------------------------------------------

    async def run(
        self,
        script: str,
        *,
        language: Language | None = None,
        engine: str | None = None,
        runtime: str | None = None,
        timeout_s: float | None = None,
        policy: Policy | Path | None = None,
        allow: Sequence[str] = (),
        input: JsonValue = None,
        files: Sequence[FileData] = (),
        collect_files: bool = False,
        run_key: str | None = None,
        dry_run: bool = False,
        approve: Approve | None = None,
        cancel: asyncio.Event | None = None,
    ) -> RunResult:
        """
        Check *script*, then run it once. Whatever a script does comes back as a result.

        Args:
            timeout_s: Whole run; at most the configured limit.
            policy: Instead of the configured policy.
            allow: Patterns over tool ids that may write. For the operator's own code and
                command line: an edge never fills it from what an agent sent.
            files: Put into the workspace; needs an engine that has one.
            collect_files: Bring back files that the script made or changed.
            run_key: Runs with one key repeat no call that was already applied.
            dry_run: Answer every call from its row's example; nothing is sent.
            approve: Asked once about writes that no rule allows.
            cancel: Set it to end the run; calls in flight are awaited and recorded.

        Raises:
            ConfigError, EngineUnavailable, CheckUnavailable: The operator's to mend;
                the script did not start.
            BadArguments: If *input* is not JSON.
        """
        check_json(input)
        if timeout_s is not None and not 0 < timeout_s < math.inf:
            raise BadArguments("timeout_s must be a number of seconds above 0.")
        if isinstance(allow, str):
            raise BadArguments("allow is a list of patterns, not one text.")
        run_id = secrets.token_hex(8)
        started = time.monotonic()
        chosen = await self._parts.choose(engine, runtime=runtime)
        normalised = await asyncio.to_thread(self._parts.normalise, script, language)
        report = await self._parts.check(normalised, engine=chosen.engine)
        result = RunResult(
            run_id=run_id,
            status="refused",
            engine=chosen.engine.name,
            runtime=chosen.engine.runtime,
            diagnostics=report.diagnostics,
            preview=report.preview,
            notes=(*chosen.notes, *self._parts.warnings),
        )
        longest_s = self._parts.config.limits.wall_s
        if timeout_s is not None and timeout_s > longest_s:
            note = f"timeout_s is limited to {longest_s:g} s by the configuration."
            result = replace(result, notes=(*result.notes, note))
        if not report.is_clean:
            return self._refused(result, _first_error(report.diagnostics))
        if files and "files" not in chosen.engine.capabilities:
            hint = "Use --engine container; codemode doctor says what it needs."
            message = f"The {chosen.engine.name} engine has no files."
            return self._refused(
                result, ScriptError(code="needs_container", message=message, hint=hint)
            )
        in_force = self._parts.policy_for(policy, allow)
        result = replace(result, notes=(*result.notes, *self._parts.unmatched(in_force)))
        approved = frozenset[str]()
        if not dry_run:
            ruling = review(in_force, self.directory, report.preview)
            if refusal := await _refusal(ruling, report.preview, approve):
                return self._refused(result, refusal)
            approved = frozenset(ruling.ask)

        job = Job(
            run_id=run_id,
            language=normalised.language,
            source=normalised.runnable,
            names=self._parts.target(normalised.language).names(
                self.directory, normalised.toolsets
            ),
            input=input,
            files=tuple(files),
            limits=self._parts.config.limits.for_run(wall_s=timeout_s),
            collect_files=collect_files,
        )
        outbound = self._parts.outbound(
            run_id=run_id,
            run_key=run_key,
            policy=in_force,
            preview=report.preview,
            approved=approved,
            limits=job.limits,
            host_functions=self._host_functions(normalised.language),
        )
        answer = self._dry_answer(outbound.records) if dry_run else outbound.answer
        outcome = await self._carried(chosen, job, answer, cancel, outbound.drain)
        result = self._finished(result, normalised, outcome, outbound.records)
        if dry_run:
            result = replace(result, notes=(*result.notes, "Dry run: nothing was sent."))
        wall_ms = (time.monotonic() - started) * 1000
        usage = replace(
            result.usage,
            wall_ms=wall_ms,
            n_calls=len(result.calls),
            sent_bytes=sum(call.sent_bytes for call in result.calls),
            received_bytes=sum(call.received_bytes for call in result.calls),
        )
        result = await outbound.finished(replace(result, usage=usage))
        self._parts.runs.write(run_id, result_json(result))
        return result

    async def _carried(
        self,
        chosen: Chosen,
        job: Job,
        answer: Answer,
        cancel: asyncio.Event | None,
        drain: Callable[[float], Awaitable[None]],
    ) -> Outcome:
        """Run *job* to its end, or to *cancel*; then wait, bounded, for calls in flight."""
        running = asyncio.ensure_future(chosen.engine.run(job, answer))
        stop = asyncio.ensure_future((cancel or asyncio.Event()).wait())
        try:
            await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                running.cancel()
                await asyncio.wait({running}, timeout=DRAIN_S)
            if running.cancelled() or not running.done():
                error = ScriptError(code="cancelled", message="The run was cancelled.")
                return Outcome(status="cancelled", error=error)
            return running.result()
        except EngineError as error:
            lost = ScriptError(code=error.code, message=error.message, hint=error.hint)
            return Outcome(status="engine_lost", error=lost)
        finally:
            stop.cancel()
            if not running.done():  # this coroutine itself is being cancelled
                running.cancel()
            await asyncio.shield(drain(DRAIN_S))

    def _finished(
        self,
        result: RunResult,
        script: Script,
        outcome: Outcome,
        records: Sequence[CallRecord],
    ) -> RunResult:
        error = outcome.error
        if error is not None and error.line:
            line, column = script.position(error.line, error.column)
            error = replace(error, line=line, column=column)
        return replace(
            result,
            status=outcome.status,
            value=outcome.value,
            has_value=outcome.has_value,
            error=error,
            calls=tuple(records),
            logs=outcome.logs,
            files=outcome.files,
            usage=outcome.usage,
            truncated=outcome.truncated,
        )

    def _refused(self, result: RunResult, error: ScriptError) -> RunResult:
        refused = replace(result, status="refused", error=error)
        self._parts.runs.write(result.run_id, result_json(refused))
        return refused

    def _host_functions(
        self, language: Language
    ) -> dict[str, Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]]:
        """Discovery from inside a script: what ``search`` and ``describe`` of "tools" call."""

        async def search(args: dict[str, JsonValue]) -> JsonValue:
            query, limit = args.get("query", ""), args.get("limit", 10)
            if not isinstance(query, str) or not isinstance(limit, int):
                raise BadArguments("search takes a text and a whole number.")
            if len(query) > MAX_QUERY_CHARS:
                raise BadArguments(f"The query is longer than {MAX_QUERY_CHARS} characters.")
            return self.search(query, limit=min(max(limit, 1), 50), language=language)

        async def describe(args: dict[str, JsonValue]) -> JsonValue:
            names = args.get("names", [])
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise BadArguments("describe takes a list of names.")
            if len(names) > MAX_NAMES:
                raise BadArguments(f"At most {MAX_NAMES} names are described at once.")
            return self.describe(names, language=language)

        return {
            f"{RESERVED_TOOLSET}.search": search,
            f"{RESERVED_TOOLSET}.describe": describe,
        }

    def _dry_answer(self, records: list[CallRecord]) -> Answer:
        """Answers from rows' examples; the records say that nothing was sent."""

        async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
            del workspace
            try:
                tool = self.directory.get(call.tool)
            except CodemodeError as error:
                return Reply(
                    error=CallError(code=error.code, message=error.message, hint=error.hint)
                )
            records.append(
                CallRecord(
                    seq=len(records) + 1,
                    tool=tool.id,
                    effect=tool.effect,
                    state="refused",
                    error="dry_run",
                )
            )
            if tool.example is None or "returns" not in tool.example:
                message = f"{tool.id} has no example to answer from."
                return Reply(error=CallError(code="no_example", message=message))
            return Reply(value=tool.example["returns"])

        return answer

    # -- past runs ---------------------------------------------------------------------------

    def list_runs(self, *, limit: int = 20) -> list[dict[str, Any]]:
        """The latest runs, newest first."""
        latest = self._parts.runs.latest(limit=limit)
        return [{name: getattr(run, name) for name in run.__slots__} for run in latest]

    def read_run(self, run_id: str) -> dict[str, Any]:
        """
        The record of one run.

        Raises:
            CodemodeError: If there is none.
        """
        return self._parts.runs.read(run_id)


def _first_error(diagnostics: Sequence[Diagnostic]) -> ScriptError:
    first = next((found for found in diagnostics if found.severity == "error"), None)
    if first is None:
        return ScriptError(code="script_refused", message="The script was refused.")
    hint = f"Nearest: {', '.join(first.suggestions)}." if first.suggestions else ""
    return ScriptError(
        code="check_failed",
        message=f"{first.code}: {first.message}",
        line=first.line,
        column=first.column,
        hint=hint,
    )


async def _refusal(ruling: Review, preview: Preview, approve: Approve | None) -> ScriptError | None:
    """Why the policy lets nothing of this script run, or None."""
    if ruling.denied:
        named = ", ".join(f"{tool} ({rule})" for tool, rule in ruling.denied)
        return ScriptError(code="not_allowed", message=f"The policy denies {named}.")
    if not ruling.ask:
        return None
    if approve is not None and not preview.is_open and await approve(preview):
        return None
    named = ", ".join(ruling.ask)
    why = " The list of calls is open, so it cannot be approved as a whole." * preview.is_open
    first = next((call for call in preview.calls if call.tool in ruling.ask), None)
    flags = " ".join(f"--allow {tool}" for tool in ruling.ask)
    return ScriptError(
        code="approval_required",
        message=f"{named} would change something and no rule allows it.{why}",
        line=first.line if first else 0,
        column=first.column if first else 0,
        hint=f"The operator can allow it: {flags} on the command line, or a policy rule.",
    )
