"""
What Monty lacks of Python, as tables. A test holds them against the real Monty.

The check refuses these for the isolate engine, because Monty's own message would
come at run time, after calls were made.
"""

from __future__ import annotations

MODULES: dict[str, frozenset[str] | None] = {
    # module: names it has, or None where it has all that scripts use
    "asyncio": frozenset({"gather", "run", "sleep"}),
    "base64": None,
    "binascii": None,
    "bisect": None,
    "collections": frozenset({"Counter", "defaultdict", "deque", "namedtuple"}),
    "copy": frozenset({"copy", "deepcopy"}),
    "csv": frozenset(
        "Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE "
        "QUOTE_NONNUMERIC excel excel_tab field_size_limit get_dialect list_dialects reader "
        "unix_dialect writer".split()
    ),
    "dataclasses": frozenset(
        {"FrozenInstanceError", "MISSING", "dataclass", "field", "is_dataclass"}
    ),
    "datetime": frozenset({"date", "datetime", "time", "timedelta", "timezone"}),
    "decimal": None,
    "functools": frozenset({"cache", "lru_cache", "partial", "reduce"}),
    "hashlib": None,
    "itertools": frozenset(
        "accumulate batched chain combinations combinations_with_replacement compress count cycle "
        "dropwhile filterfalse groupby islice pairwise permutations product repeat starmap "
        "takewhile tee zip_longest".split()
    ),
    "json": frozenset({"JSONDecodeError", "dump", "dumps", "load", "loads"}),
    "math": None,
    "random": None,
    "re": frozenset(
        "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern S compile error escape "
        "findall finditer fullmatch match search split sub".split()
    ),
    "time": None,
    "tomllib": None,
    "typing": frozenset(
        "Annotated Any Callable ClassVar Dict Final FrozenSet Generator Generic Iterable Iterator "
        "List Literal Mapping Never NoReturn Optional Protocol Self Sequence Set Tuple Type "
        "TypeVar Union".split()
    ),
    "unicodedata": None,
}
"""Modules of the standard library that scripts may import under Monty. Those for the
operating system (os, pathlib, sys) are left out: nothing behind them answers."""

SYNTAX: dict[str, str] = {
    # tree-sitter node type: what it is called
    "yield": "`yield`",
    "delete_statement": "`del`",
    "type_alias_statement": "a type alias statement",
    "async for": "`async for`",
    "async with": "`async with`",
    "except*": "`except*`",
    "inheritance": "class inheritance",
    "method decorator": "a decorated method (property, staticmethod, classmethod)",
    "nested class": "a class inside a class",
}
"""Forms that Monty's parser refuses, by the name `codemode.core.gate_python` finds them."""

INSTEAD: dict[str, str] = {
    # what Monty lacks: what does the same there
    "operator": 'a lambda, such as `key=lambda row: row["date"]`',
    "statistics": "`sum(values) / len(values)` and `sorted(values)`",
    "enum": "plain strings",
    "string": "the letters themselves",
    "textwrap": 'slices and `"\\n".join(lines)`',
    "pathlib": "a tool that reads or writes files",
    "os": "`input`, or a tool",
    "sys": "`raise` to fail and `return` to end",
    "urllib.parse": "an f-string",
    "urllib.request": "a tool",
    "urllib": "a tool",
    "uuid": "`random` or `hashlib`",
    "heapq": "`sorted(values)[:n]`",
    "logging": "`print`",
    "pprint": "`json.dumps(value, indent=2)`",
    "fractions": "`decimal`",
    "zoneinfo": "`datetime.timezone(timedelta(hours=...))`",
    "calendar": "`datetime`",
    "traceback": "`str(error)`",
    "contextlib": "`try`/`except`",
    "asyncio.create_task": "`await asyncio.gather(...)`",
    "asyncio.TaskGroup": "`await asyncio.gather(...)`",
    "asyncio.Semaphore": "`asyncio.gather` on slices of the list",
    "asyncio.wait": "`await asyncio.gather(...)`",
    "asyncio.as_completed": "`await asyncio.gather(...)`",
    "dataclasses.asdict": "a dictionary",
    "functools.wraps": "the inner function as it is",
    "functools.cmp_to_key": "`key=` with a tuple",
    "yield": "a list that is returned",
    "delete_statement": "`.pop(key)`",
    "async for": "a `while` loop that awaits each page",
    "inheritance": "functions and dictionaries",
    "staticmethod": "a function",
    "classmethod": "a function",
    "method decorator": "a function",
    "nested class": "two classes",
    "issubclass": "`isinstance`",
    "bytearray": "`bytes` or a list",
    "ascii": "`repr`",
    "open": "a tool that reads or writes files",
}
"""Easy ways around, for the message that refuses."""

BUILTINS = frozenset(
    "BaseExceptionGroup BlockingIOError BrokenPipeError ConnectionError ConnectionResetError "
    "EOFError ExceptionGroup IOError StopAsyncIteration UnicodeError UserWarning Warning aiter "
    "anext ascii breakpoint bytearray callable classmethod compile delattr dir exit globals help "
    "issubclass memoryview quit staticmethod super vars".split()
)
"""Builtins that Monty does not have. (``input`` is there: the run's own.)"""

DENIED = frozenset({"open"})
"""Builtins that Monty has and that are always refused there: isolate has no files."""
