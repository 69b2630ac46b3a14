"""The tables of what Monty lacks are held against the real Monty."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pydantic_monty
import pytest
import pytest_asyncio

from codemode.core import monty
from codemode.core.gate_python import CONTAINER_MODULES, NEEDS_CONTAINER

from .test_gate import refused
from .world import made

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPERATING_SYSTEM = {"os", "os.path", "pathlib", "posixpath", "sys"}
"""Monty has these, but nothing behind them answers, so scripts are not offered them."""

FORMS: dict[str, str] = {
    "yield": "def g():\n    yield 1\nlist(g())",
    "yield-from": "def g():\n    yield from [1]\nlist(g())",
    "del-name": "x = 1\ndel x\n1",
    "del-item": "d = {1: 2}\ndel d[1]\nlen(d)",
    "type-alias": "type X = int\n1",
    "async-for": "async def f(y):\n    async for x in y:\n        pass\n1",
    "async-with": "async def f(y):\n    async with y:\n        pass\n1",
    "except-star": "try:\n    x = 1\nexcept* ValueError:\n    x = 2\nx",
    "inheritance": "class A:\n    pass\nclass B(A):\n    pass\n1",
    "own-exception": "class E(Exception):\n    pass\n1",
    "metaclass": "class A(metaclass=type):\n    pass\n1",
    "property": "class A:\n    @property\n    def x(self):\n        return 1\nA().x",
    "staticmethod": "class A:\n    @staticmethod\n    def x():\n        return 1\nA.x()",
    "nested-class": "class A:\n    class B:\n        x = 1\nA.B.x",
    "import-star": "from math import *\n1",
    "create-task": "import asyncio\nasync def f():\n    return 1\nawait asyncio.create_task(f())",
    "semaphore": "import asyncio\nasyncio.Semaphore(2)\n1",
    "statistics": "import statistics\nstatistics.mean([1])",
    "contextlib": "import contextlib\n1",
    "io": "from io import StringIO\n1",
    "uuid": "import uuid\nuuid.uuid4()",
    "urllib": "from urllib.parse import quote\nquote('a b')",
    "bytearray": "bytearray(b'a')",
    "super": "class A:\n    def f(self):\n        return super()\nA().f()",
}
"""Refused for isolate, and Monty does refuse them."""

WORKS: dict[str, str] = {
    "class": "class A:\n    def __init__(self, x):\n        self.x = x\nA(1).x",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(x=1).x",
    "decorator": "def d(f):\n    return f\n@d\ndef g():\n    return 1\ng()",
    "match": 'match {"a": [1, 2]}:\n    case {"a": [x, *y]} if x:\n        r = y\n'
    "    case _:\n        r = 0\nr",
    "match-class": "match 1:\n    case int() as n:\n        r = n\nr",
    "with": "class C:\n    def __enter__(self):\n        return 1\n"
    "    def __exit__(self, *a):\n        return None\nwith C() as c:\n    r = c\nr",
    "comprehension": "async def f(x):\n    return x\n[await f(x) for x in [1, 2]]",
    "generator": "sum(x for x in [1, 2])",
    "gather": "import asyncio\nasync def f(x):\n    return x\nawait asyncio.gather(*[f(1), f(2)])",
    "try": "try:\n    1 / 0\nexcept (ValueError, ZeroDivisionError) as e:\n    r = str(e)\nr",
    "bare-except": "try:\n    1 / 0\nexcept:\n    r = 1\nr",
    "fstring": 'd = {"a": 1.5}\nf"{d["a"]:>6.2f}"',
    "walrus": "(x := 1) + x",
    "json": "import json\njson.dumps(json.loads('[1]'))",
    "re": "import re\nre.sub('a', 'b', 'a')",
    "datetime": "from datetime import datetime\ndatetime(2020, 1, 1).isoformat()",
    "collections": "from collections import Counter, defaultdict\nCounter('aab').most_common(1)",
    "lambda": "sorted([2, 1], key=lambda x: -x)",
    "generic": "def f[T](x: T) -> T:\n    return x\nf(1)",
    "star-except-name": "x = {'except': 1}\nx",
}  # fmt: skip
"""Accepted for isolate, and Monty does run them."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[pydantic_monty.AsyncMonty]:
    async with pydantic_monty.AsyncMonty() as found:
        yield found


async def run(pool: pydantic_monty.AsyncMonty, text: str) -> str:
    """ "" if Monty runs it, else what it says."""
    async with pool.checkout() as session:
        try:
            await session.feed_run(text)
        except pydantic_monty.MontyError as error:
            return str(error)
    return ""


def needs_container(text: str) -> bool:
    found = refused(text, "python", "isolate")
    assert {one.code for one in found} <= {NEEDS_CONTAINER, "no-await"}
    return any(one.code == NEEDS_CONTAINER for one in found)


@pytest.mark.parametrize("name", FORMS)
async def test_what_is_refused_for_isolate_does_not_run_there(
    name: str, pool: pydantic_monty.AsyncMonty
):
    assert needs_container(FORMS[name])
    assert not refused(FORMS[name], "python", "container")
    assert await run(pool, made(FORMS[name], "python").runnable)


@pytest.mark.parametrize("name", WORKS)
async def test_what_is_accepted_for_isolate_runs_there(name: str, pool: pydantic_monty.AsyncMonty):
    assert not needs_container(WORKS[name])
    assert await run(pool, made(WORKS[name], "python").runnable) == ""


async def test_the_modules_are_exactly_those_of_monty(pool: pydantic_monty.AsyncMonty):
    has = {name for name in CONTAINER_MODULES if await run(pool, f"import {name}\n1") == ""}

    assert has - OPERATING_SYSTEM == set(monty.MODULES)


async def test_every_name_of_a_listed_module_is_there_and_no_other(
    pool: pydantic_monty.AsyncMonty,
):
    for module, names in monty.MODULES.items():
        for name in names or ():
            assert await run(pool, f"from {module} import {name}\n1") == "", (module, name)
    for module, name in (
        ("asyncio", "create_task"),
        ("collections", "OrderedDict"),
        ("functools", "wraps"),
        ("json", "JSONEncoder"),
        ("re", "VERBOSE"),
        ("typing", "TypedDict"),
        ("datetime", "tzinfo"),
        ("dataclasses", "asdict"),
        ("copy", "replace"),
    ):
        assert await run(pool, f"from {module} import {name}\n1") != "", (module, name)
        assert needs_container(f"from {module} import {name}\n1")


async def test_the_builtins_are_missing(pool: pydantic_monty.AsyncMonty):
    for name in sorted(monty.BUILTINS):
        assert await run(pool, f"x = {name}\n1") != "", name
        assert needs_container(f"x = {name}\nx") or name in ("globals", "vars", "compile")


async def test_files_are_denied(pool: pydantic_monty.AsyncMonty):
    for name in sorted(monty.DENIED):
        assert "Permission" in await run(pool, f"{name}('a.txt')")
        assert needs_container(f"{name}('a.txt')")
