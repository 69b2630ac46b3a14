"""Builds what the verbs stand on from the operator's config. The one place that knows every rim."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from codemode import bindings, sandbox, targets
from codemode.check import Checker
from codemode.check.python import PythonChecker
from codemode.check.report import check_script
from codemode.check.typescript import TypeScriptChecker
from codemode.core.call import BindingModule, Sender
from codemode.core.credential import Credential
from codemode.core.gate_python import NEEDS_CONTAINER
from codemode.core.outbound import OutboundRun
from codemode.core.policy import DEFAULT, Policy
from codemode.core.run import CheckReport, Diagnostic, Engine, Language, Limits, Preview
from codemode.core.script import Script, detect_language, normalise
from codemode.core.search import Index
from codemode.core.tool import Directory, JsonValue, Tool
from codemode.core.usage import ToolNames
from codemode.core.validate import Validators
from codemode.errors import BadArguments, EngineUnavailable
from codemode.generate import Generated, generate
from codemode.outbound import HostFunction, Outbound
from codemode.service.directory import read_credentials, read_directory
from codemode.store.audit import AuditFile
from codemode.store.config import Config
from codemode.store.generated import read_templates
from codemode.store.ledger import SqliteLedger
from codemode.store.policy import read_policy
from codemode.store.runs import RunStore
from codemode.store.secrets import SecretStore
from codemode.targets import Target

CHECK_TIMEOUT_S = 15.0
"""One check, waiting for the one before it included."""


ENGINES = tuple(name for name in sandbox.names() if name != "fake")
"""What may be asked for by name; the fake one is passed in by whoever wants it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An engine that is ready, and why it was taken."""

    engine: Engine
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Parts:
    """Everything one service owns. Made by `open_parts`, closed with the service."""

    config: Config
    directory: Directory
    bindings: Mapping[str, BindingModule]
    credentials: Mapping[str, Credential]
    senders: Mapping[str, Sender]
    ledger: SqliteLedger
    audit: AuditFile
    secrets: SecretStore
    runs: RunStore
    fixed_engine: Engine | None
    validators: Validators = field(default_factory=Validators)
    _engines: dict[tuple[str, str], Engine] = field(default_factory=dict)
    _engines_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _tool_names: dict[Language, ToolNames] = field(default_factory=dict)
    _stubs: dict[Language, Generated] = field(default_factory=dict)

    # -- names -------------------------------------------------------------------------------

    @cached_property
    def index(self) -> Index:
        """Search over the directory."""
        return Index(self.directory)

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """Callable path in either language -> tool id."""
        languages: tuple[Language, ...] = ("typescript", "python")
        return {
            self.path(tool, language): tool.id for language in languages for tool in self.directory
        }

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What in the config has no effect on this directory."""
        return tuple(
            f"The config names a toolset {name!r} that is not in the directory."
            for name in self.config.toolsets
            if name not in self.directory.toolsets
        )

    def unmatched(self, policy: Policy) -> Iterator[str]:
        """Patterns of *policy* that no tool fits: most often a name that is spelt otherwise."""
        for rule in policy.rules:
            for pattern in rule.tools:
                if not any(fnmatchcase(tool.id, pattern) for tool in self.directory):
                    meant = self.paths.get(pattern)
                    near = [meant] if meant else self.directory.nearest(pattern)
                    hint = f" Did you mean {', '.join(near)}?" if near else ""
                    yield f"The pattern {pattern!r} ({rule.label}) fits no tool.{hint}"

    def target(self, language: Language) -> Target:
        """
        Raises:
            BadArguments: If there is no such language.
        """
        if language not in targets.names():
            known = ", ".join(targets.names())
            raise BadArguments(f"There is no language {language!r}.", hint=f"Known: {known}.")
        return targets.load(language)

    def path(self, tool: Tool, language: Language) -> str:
        """``github.issuesCreate`` or ``github.issues_create``."""
        target = self.target(language)
        return f"{target.toolset_name(tool.toolset.name)}.{target.tool_name(tool.name)}"

    # -- check -------------------------------------------------------------------------------

    def normalise(self, text: str, language: Language | None) -> Script:
        language = language or detect_language(text)
        target = self.target(language)
        known = [target.toolset_name(name) for name in self.directory.toolsets]
        return normalise(text, language, toolsets=known)

    def stubs(self, language: Language) -> Mapping[str, str]:
        """Stubs of the directory in use, made in memory once."""
        if language not in self._stubs:
            templates = read_templates(language)
            self._stubs[language] = generate(self.directory, self.target(language), templates)
        return self._stubs[language].files

    @cached_property
    def _checkers(self) -> Mapping[Language, Checker]:
        return {"typescript": TypeScriptChecker(), "python": PythonChecker()}

    def _names(self, language: Language) -> ToolNames:
        if language not in self._tool_names:
            target = self.target(language)
            self._tool_names[language] = ToolNames(
                self.directory, target.toolset_name, target.tool_name
            )
        return self._tool_names[language]

    async def check(self, script: Script, *, engine: Engine) -> CheckReport:
        """What the gate, the compiler and the engine's abilities say, and the preview."""
        target = self.target(script.language)
        report = await check_script(
            script,
            names=self._names(script.language),
            target=target,
            stubs=self.stubs(script.language),
            checker=self._checkers[script.language],
            engine=engine.name,
            timeout_s=CHECK_TIMEOUT_S,
        )
        if "commands" in engine.capabilities:
            return report
        return replace(report, diagnostics=(*self._unable(report, target), *report.diagnostics))

    def _unable(self, report: CheckReport, target: Target) -> Iterator[Diagnostic]:
        """Calls that no run on an engine without programs could carry."""
        for call in report.preview.calls:
            if call.tool not in self.directory:
                continue
            tool = self.directory.get(call.tool)
            if self.bindings[tool.binding.via].needs_workspace:
                yield Diagnostic(
                    line=call.line,
                    column=call.column,
                    severity="error",
                    code=NEEDS_CONTAINER,
                    message=f"{tool.id} runs a program, which only the container engine can: "
                    "run with --engine container (codemode doctor says what it needs).",
                    tool=tool.id,
                    signature=target.signature(tool),
                )

    # -- engines -----------------------------------------------------------------------------

    async def choose(self, name: str | None, *, runtime: str | None) -> Chosen:
        """
        The engine for one run, started.

        ``auto`` takes the container engine when Docker answers and the image is there;
        a runtime that was asked for is never replaced.

        Raises:
            EngineUnavailable: If the one asked for cannot start here.
        """
        if self.fixed_engine is not None:
            return Chosen(engine=self.fixed_engine)
        wanted = name or self.config.engine.name
        if wanted not in (*ENGINES, "auto"):
            known = ", ".join(("auto", *ENGINES))
            raise BadArguments(f"There is no engine {wanted!r}.", hint=f"Known: {known}.")
        asked_runtime = runtime or self.config.engine.runtime
        if wanted == "auto":
            try:
                engine = await self._started("container", asked_runtime)
            except EngineUnavailable as error:
                if runtime is not None:
                    raise
                note = f"Engine isolate: {error.message} {error.hint}".strip()
                return Chosen(engine=await self._started("isolate", ""), notes=(note,))
            note = (
                "Engine container: Docker answers and the image is there "
                "(--engine isolate takes the embedded one)."
            )
            return Chosen(engine=engine, notes=(note,))
        if wanted == "isolate" and runtime is not None:
            raise EngineUnavailable(
                f"The isolate engine has no runtime {runtime!r}.", hint="Use --engine container."
            )
        return Chosen(engine=await self._started(wanted, asked_runtime))

    async def _started(self, name: str, runtime: str) -> Engine:
        key = (name, runtime if name == "container" else "")
        async with self._engines_lock:
            if key not in self._engines:
                engine = sandbox.load(name)(**self._settings(name, runtime))
                try:
                    await engine.start()
                except BaseException:
                    with contextlib.suppress(Exception):
                        await engine.close()
                    raise
                self._engines[key] = engine
            return self._engines[key]

    def _settings(self, name: str, runtime: str) -> dict[str, Any]:
        section = self.config.engine
        if name == "container":
            return {
                "image": section.image,
                "runtime": runtime,
                "pool_size": section.pool_size,
                "docker_host": section.docker_host,
                "limits": self.config.limits.for_run(),
            }
        return {"warm": section.pool_size}

    # -- calls -------------------------------------------------------------------------------

    def policy_for(self, policy: Policy | Path | None, allow: Sequence[str]) -> Policy:
        """The policy in force: given, configured, or the default; the operator's lists on top."""
        section = self.config.policy
        if isinstance(policy, Policy):
            base = policy
        elif (path := policy or section.file) is not None:
            base = read_policy(path)
        else:
            base = DEFAULT
        base = base.allowing(section.allow, label="policy.allow").allowing(allow)
        return base.denying(section.deny, label="policy.deny")

    def outbound(
        self,
        *,
        run_id: str,
        run_key: str | None,
        policy: Policy,
        preview: Preview,
        approved: frozenset[str],
        limits: Limits,
        host_functions: Mapping[str, HostFunction],
    ) -> Outbound:
        """The handler of one run."""

        async def approve(tool: Tool, args: Mapping[str, JsonValue], rule: str) -> bool:
            del args, rule
            return tool.id in approved

        run = OutboundRun(
            run_id=run_id,
            run_key=run_key or run_id,
            keep_reads=run_key is not None,
            directory=self.directory,
            bindings=self.bindings,
            credentials=self.credentials,
            policy=policy,
            preview=preview,
            variables=self._variables,
            max_calls=limits.max_calls,
            max_file_bytes=limits.max_file_bytes,
            include_args=self.config.audit.include_arguments,
            validators=self.validators,
        )
        return Outbound(
            run,
            senders=self.senders,
            ledger=self.ledger,
            audit=self.audit,
            secrets=self.secrets,
            approve=approve,
            host_functions=host_functions,
            limits=limits,
            call_timeout_s=self.config.limits.call_timeout_s,
            max_response_bytes=self.config.limits.max_response_bytes,
        )

    @cached_property
    def _variables(self) -> Mapping[str, Mapping[str, str]]:
        return {
            name: dict(section.variables)
            | ({"base_url": section.base_url} if section.base_url is not None else {})
            for name, section in self.config.toolsets.items()
        }

    async def close(self) -> None:
        """Close everything, whatever fails on the way."""
        closing = [engine.close() for engine in self._engines.values()]
        closing += [sender.close() for sender in self.senders.values()]
        if "_checkers" in self.__dict__:
            closing += [checker.close() for checker in self._checkers.values()]
        await asyncio.gather(*closing, return_exceptions=True)
        self.ledger.close()
        self.audit.close()


async def open_parts(config: Config, *, engine: Engine | None) -> Parts:
    """
    Read the directory and open the stores. No engine and no checker is started yet.

    Raises:
        ConfigError, DirectoryError: If what the operator wrote cannot be used.
    """
    known = bindings.load_all()
    credentials = read_credentials(config)
    directory = read_directory(config, known, credentials)
    state = config.state_folder
    settings = bindings.SenderSettings(
        allow_addresses=frozenset(config.allow_addresses),
        mcp_servers=config.mcp_servers,
        state_folder=state,
        ca_bundle=config.ca_bundle,
    )
    if engine is not None:
        await engine.start()
    return Parts(
        config=config,
        directory=directory,
        bindings=known,
        credentials=credentials,
        senders=bindings.make_senders(settings),
        ledger=SqliteLedger(state / "ledger.sqlite"),
        audit=AuditFile(config.audit.file or state / "audit.jsonl"),
        secrets=SecretStore(),
        runs=RunStore(state / "runs"),
        fixed_engine=engine,
    )
