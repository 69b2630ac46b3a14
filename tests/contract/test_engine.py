# ruff: noqa: E501  scripts are kept as a model writes them
"""What every engine promises. A new file in sandbox/ is tested unasked."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from importlib import import_module

import pytest
import pytest_asyncio

from codemode import sandbox
from codemode.core.run import CAPABILITIES, Engine, Job, Language, Limits, Outcome
from codemode.errors import EngineUnavailable
from contract.desk import Desk, names
from contract.engine_cases import UNSET, Case, cases
from contract.engine_cases.isolation import ANY_END, SECRET

pytestmark = pytest.mark.asyncio(loop_scope="session")

LANGUAGES: tuple[Language, ...] = ("typescript", "python")
RUNTIMES = {"container": ("runc", "runsc")}
"""Engines that come in several kinds, each tested on its own."""


def variants() -> list[tuple[str, str]]:
    """``(engine, runtime)`` of everything in the sandbox package."""
    return [(name, runtime) for name in sandbox.names() for runtime in RUNTIMES.get(name, ("",))]


def make(name: str, runtime: str) -> Engine:
    settings = {"runtime": runtime} if runtime else {}
    return sandbox.load(name)(**settings)


def label(variant: tuple[str, str]) -> str:
    return "-".join(part for part in variant if part)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engines() -> AsyncIterator[dict[tuple[str, str], Engine | EngineUnavailable]]:
    """What has been started so far; each engine once for the whole suite."""
    os.environ["CODEMODE_TEST_SEEDED"] = SECRET
    started: dict[tuple[str, str], Engine | EngineUnavailable] = {}
    yield started
    for made in started.values():
        if not isinstance(made, EngineUnavailable):
            await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def engine(
    request: pytest.FixtureRequest, engines: dict[tuple[str, str], Engine | EngineUnavailable]
) -> Engine:
    variant: tuple[str, str] = request.param
    if variant not in engines:
        made = make(*variant)
        try:
            await made.start()
            engines[variant] = made
        except EngineUnavailable as error:
            engines[variant] = error
    found = engines[variant]
    if not isinstance(found, EngineUnavailable):
        return found
    if variant[0] != "container" or os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
        raise found
    pytest.skip(f"unavailable: {found.message}")


def each_language() -> pytest.MarkDecorator:
    """Every engine in every language that it declares."""
    return pytest.mark.parametrize(
        ("engine", "language"),
        [
            pytest.param(variant, language, id=f"{label(variant)}-{language}")
            for variant in variants()
            for language in LANGUAGES
            if language in make(*variant).capabilities
        ],
        indirect=["engine"],
    )


def every_case() -> list:
    """Each case on each engine and language that can run it."""
    found = []
    for variant in variants():
        capabilities = make(*variant).capabilities
        found += [
            pytest.param(
                variant,
                language,
                case,
                id=f"{label(variant)}-{language}-{case.name}",
                marks=pytest.mark.case(*case.ids),
            )
            for language in LANGUAGES
            for case in cases()
            if case.applies(language, capabilities)
        ]
    return found


async def run(
    engine: Engine, desk: Desk, language: Language, source: str, **job: object
) -> Outcome:
    settings = {"names": names(language), "limits": Limits(wall_s=20.0, cpu_s=10.0), **job}
    return await engine.run(Job(run_id="r1", language=language, source=source, **settings), desk)


@pytest.mark.parametrize(("engine", "language", "case"), every_case(), indirect=["engine"])
async def test_case(engine: Engine, language: Language, case: Case) -> None:
    desk = Desk()
    source = case.source(language)
    assert source is not None

    outcome = await run(engine, desk, language, source, limits=case.limits, input=case.input)

    if case.also is not None:
        case.also(outcome, desk)
    if case.name in ANY_END:
        return
    assert outcome.status == case.status, outcome
    if case.status == "succeeded":
        assert outcome.error is None
        assert outcome.has_value == (case.value is not UNSET)
        if outcome.has_value:
            assert outcome.value == case.value
    else:
        assert outcome.error is not None
        assert outcome.error.code == case.code, outcome.error
        for part in case.message:
            assert part in outcome.error.message
        for part in case.hint:
            assert part in outcome.error.hint, outcome.error
        if case.line:
            assert outcome.error.line == case.line, outcome.error
        if case.column:
            assert outcome.error.column == case.column, outcome.error
    if case.logs is not None:
        assert tuple((line.stream, line.text) for line in outcome.logs) == case.logs


@pytest.mark.parametrize("variant", variants(), ids=label)
async def test_capabilities_are_known_words(variant: tuple[str, str]) -> None:
    made = make(*variant)

    assert made.capabilities <= CAPABILITIES
    assert made.name == variant[0]
    assert made.runtime == variant[1]


SLOW = {
    "typescript": 'import { desk } from "tools"; export default async () => await desk.slow({ s: 60 });',
    "python": "from tools import desk\nreturn await desk.slow(s=60)",
}
ECHO = {
    "typescript": 'import { desk } from "tools"; export default async () => '
    "{ console.log(input); return await desk.echo({ n: input }); };",
    "python": "from tools import desk\nprint(input)\nreturn await desk.echo(n=input)",
}
SPIN = {
    "typescript": 'import { desk } from "tools"; export default async () => { await desk.echo({}); while (true) {} };',
    "python": "from tools import desk\nawait desk.echo()\nwhile True:\n    pass",
}


@each_language()
@pytest.mark.case("T17")
async def test_runs_share_nothing(engine: Engine, language: Language) -> None:
    desks = [Desk() for _ in range(4)]

    outcomes = await asyncio.gather(
        *(run(engine, desk, language, ECHO[language], input=n) for n, desk in enumerate(desks))
    )

    for n, (outcome, desk) in enumerate(zip(outcomes, desks, strict=True)):
        assert outcome.value == {"n": n}, outcome
        assert [line.text for line in outcome.logs] == [str(n)]
        assert [call.args for call in desk.calls] == [{"n": n}]
        assert outcome.usage.n_calls == 1


LEAK = {
    "typescript": (
        "export default async () => { const g: any = globalThis; g.left = 1; },"
        "export default async () => (globalThis as any).left ?? null;"
    ).split(","),
    "python": [
        "left = 1\nimport json\njson.left = 1",
        "import json\nreturn getattr(json, 'left', None)",
    ],
}


@each_language()
@pytest.mark.case("T17")
async def test_nothing_is_left_for_the_next_run(engine: Engine, language: Language) -> None:
    first, second = LEAK[language]
    await run(engine, Desk(), language, first)

    outcome = await run(engine, Desk(), language, second)

    assert outcome.status == "succeeded", outcome
    assert outcome.value is None


@each_language()
@pytest.mark.case("attack:65")
async def test_cancelling_a_run_ends_it_and_its_calls(engine: Engine, language: Language) -> None:
    desk = Desk()
    running = asyncio.create_task(run(engine, desk, language, SLOW[language]))
    async with asyncio.timeout(20):
        await desk.started.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await running

    assert desk.cancelled == 1
    assert (await run(engine, Desk(), language, ECHO[language], input=1)).status == "succeeded"


@each_language()
@pytest.mark.case("L1", "L17")
async def test_cancelling_a_spinning_run_returns(engine: Engine, language: Language) -> None:
    desk = Desk()
    running = asyncio.create_task(run(engine, desk, language, SPIN[language]))
    async with asyncio.timeout(20):
        await desk.started.wait()
    await asyncio.sleep(0.2)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await running


@each_language()
@pytest.mark.case("L3")
async def test_the_next_run_works_after_a_bad_one(engine: Engine, language: Language) -> None:
    wall = Limits(wall_s=1.0, cpu_s=10.0)
    bad = await run(engine, Desk(), language, SPIN[language], limits=wall)

    good = await run(engine, Desk(), language, ECHO[language], input=7)

    assert bad.status == "timed_out"
    assert good.value == {"n": 7}


@each_language()
async def test_usage_is_measured(engine: Engine, language: Language) -> None:
    began = time.monotonic()

    outcome = await run(engine, Desk(), language, ECHO[language], input=1)

    assert 0 < outcome.usage.wall_ms <= (time.monotonic() - began) * 1000 + 1
    assert outcome.usage.n_calls == 1


@pytest.mark.parametrize("variant", [v for v in variants() if v[0] != "container"], ids=label)
async def test_an_engine_can_be_closed_twice_and_refuses_to_run_then(
    variant: tuple[str, str],
) -> None:
    made = make(*variant)
    await made.start()
    await made.close()
    await made.close()

    job = Job(run_id="r", language="python", source="", names={})
    with pytest.raises(EngineUnavailable):
        await made.run(job, Desk())


@pytest.mark.parametrize("variant", variants(), ids=label)
async def test_an_engine_is_one_module_with_one_factory(variant: tuple[str, str]) -> None:
    module = import_module(f"codemode.sandbox.{variant[0]}")

    assert callable(module.ENGINE)
    assert variant[0] in sandbox.names()
