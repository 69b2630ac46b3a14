"""``globals.d.ts`` holds what scripts really have, in Deno and in Node alike."""

from __future__ import annotations

import json
import os
import re

import pytest

from codemode import sandbox
from codemode.check.typescript import GLOBALS
from codemode.core.run import Job, Limits
from codemode.errors import EngineUnavailable

from .world import Check

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXT = GLOBALS.read_text("utf-8")
DECLARED = sorted(set(re.findall(r"^declare (?:const|function|class) (\w+)", TEXT, re.M)))
CONSOLE = re.findall(r"^  (\w+)\(", TEXT.split("interface Console {")[1].split("\n}")[0], re.M)

NEWER = ("Map.groupBy", "Array.fromAsync", "Promise.try", "Iterator.from", "RegExp.escape",
         "Error.isError", "Set.prototype.union", "Array.prototype.toSorted",
         "Symbol.asyncIterator", "Symbol.asyncDispose", "Object.groupBy", "Float16Array",
         "DisposableStack", "AsyncDisposableStack", "Intl.NumberFormat",
         "AbortSignal.timeout", "URL.canParse", "crypto.subtle.digest")  # fmt: skip
"""What the language's own library declares, and only recent engines have."""

UNDECLARED = {
    # what scripts have no use for, or would use to reach what they do not have
    *("Crypto", "CryptoKey", "SubtleCrypto", "Performance", "WebAssembly", "URLPattern"),
    *("File", "FormData", "Headers", "Temporal"),
}

LOOK = """export default async () => {
  const names = input.map((path) => {
    let value = globalThis;
    for (const name of path.split(".")) value = value?.[name];
    return [path, typeof value];
  });
  return { missing: names.filter(([, kind]) => kind === "undefined").map(([path]) => path),
           all: Object.getOwnPropertyNames(globalThis) };
};"""


async def look(name: str) -> dict[str, list[str]]:
    paths = [*DECLARED, *(f"console.{one}" for one in CONSOLE), *NEWER]
    engine = sandbox.load(name)()
    try:
        await engine.start()
    except EngineUnavailable as error:
        if name != "container" or os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"unavailable: {error.message}")
    try:
        job = Job(run_id="r1", language="typescript", source=LOOK, input=paths,
                  names={}, limits=Limits(wall_s=20.0, cpu_s=10.0))  # fmt: skip
        outcome = await engine.run(job, None)  # type: ignore[arg-type]
    finally:
        await engine.close()
    assert outcome.status == "succeeded", outcome
    return outcome.value  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["isolate", "container"])
async def test_what_is_declared_is_there(name: str) -> None:
    found = await look(name)
    assert found["missing"] == []


async def test_what_is_there_is_declared(check: Check) -> None:
    there = [name for name in (await look("isolate"))["all"] if name.isidentifier()]
    text = "\n".join(f"typeof {name};" for name in there if name not in ("tools", "undefined"))

    report = await check(f"{text}\nreturn 1;", "typescript")

    unknown = {
        match[1]
        for one in report.diagnostics
        if (match := re.match(r"(?:Cannot find name ')?(\w+)", one.message))
        and one.severity == "error"
    }
    assert unknown == UNDECLARED, json.dumps([one.message for one in report.diagnostics])
