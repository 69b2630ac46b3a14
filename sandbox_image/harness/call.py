"""
Calls one Python function: a JSON object on stdin, a JSON object on stdout.

In:  {"callable": "module:name", "package": "", "args": [], "kwargs": {},
      "arg_kinds": [], "kwarg_kinds": {}, "convert": "json"}
Out: {"value": ...} or {"error": "...", "hint": "..."}

Standard library only. What the function itself prints goes to stderr.
"""

import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import glob
import importlib
import json
import math
import os
import pathlib
import sys
import uuid
import zoneinfo

MAX_ITEMS = 100_000
MAX_DEPTH = 100


class Unfit(Exception):
    """An argument or a value that has no form on the other side."""


def date_of(text):
    return datetime.date.fromisoformat(text)


def datetime_of(text):
    return datetime.datetime.fromisoformat(text)


KINDS = {
    "bytes": lambda text: text.encode(),
    "base64": lambda text: base64.b64decode(text, validate=True),
    "lines": lambda text: text.splitlines(keepends=True),
    "date": date_of,
    "datetime": datetime_of,
    "timezone": zoneinfo.ZoneInfo,
    "decimal": lambda value: decimal.Decimal(str(value)),
    "uuid": uuid.UUID,
    "tuple": tuple,
    "file": lambda path: open(path, "rb"),  # noqa: SIM115  closed when the process ends
    "text_file": lambda path: open(path, encoding="utf-8-sig", newline=""),  # noqa: SIM115
}


def files_matching(pattern):
    """Regular files that match, sorted; ``**`` crosses folders. Called by name, like any other."""
    return sorted(filter(os.path.isfile, glob.iglob(pattern, recursive=True)))


def prepared(value, kind, name):
    if kind is None or value is None:
        return value
    if isinstance(value, list) and kind != "tuple":
        return [prepared(item, kind, name) for item in value]
    try:
        return KINDS[kind](value)
    except OSError as error:
        raise Unfit(f"{name}: {value!r}: {error.strerror or error}") from None
    except Exception as error:
        raise Unfit(f"{name}: {value!r} is no {kind}: {error}") from None


def key_of(key, path):
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int, float, datetime.date)):
        return str(plain(key, path)) if not isinstance(key, bool) else str(key).lower()
    raise Unfit(f"{path}: a key of type {type(key).__name__} has no JSON form")


def plain(value, path="value", depth=0):
    """*value* as JSON; every other type has one documented form or is refused."""
    if depth > MAX_DEPTH:
        raise Unfit(f"{path}: nested more than {MAX_DEPTH} deep")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value, path, depth + 1)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unfit(f"{path}: {value} has no JSON form")
        return float(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        value = {field.name: getattr(value, field.name) for field in fields}
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, collections.abc.Mapping):
        found = {}
        for key, item in value.items():
            name = key_of(key, path)
            if name in found:
                raise Unfit(f"{path}: two keys become {name!r}")
            found[name] = plain(item, f"{path}.{name}", depth + 1)
        return found
    if isinstance(value, (set, frozenset)):
        items = [plain(item, path, depth + 1) for item in value]
        try:
            return sorted(items)
        except TypeError:
            return items
    if isinstance(value, collections.abc.Iterable):
        found = []
        for index, item in enumerate(value):
            if index == MAX_ITEMS:
                raise Unfit(f"{path}: more than {MAX_ITEMS} items; ask for an end")
            found.append(plain(item, f"{path}[{index}]", depth + 1))
        return found
    raise Unfit(f"{path}: {type(value).__name__} has no JSON form")


def converted(value, convert):
    if convert == "text":
        return value.decode() if isinstance(value, bytes) else str(value)
    if convert == "list":
        return plain(iter(value))
    if convert == "hex":
        return value.hex()
    if convert == "base64":
        return base64.b64encode(value).decode()
    if isinstance(convert, dict) and "method" in convert:
        return plain(getattr(value, convert["method"])())
    if isinstance(convert, dict):
        return plain({name: getattr(value, name) for name in convert["attributes"]})
    return plain(value)


def imported(name, package):
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
        return functools.reduce(getattr, attribute.split("."), module)
    except (ImportError, AttributeError) as error:
        hint = f"The sandbox image needs {package}." if package else ""
        raise Unfit(f"cannot import {name}: {error}", hint) from None


def answer(job):
    try:
        function = imported(job["callable"], job.get("package", ""))
        kinds = job.get("arg_kinds") or [None] * len(job.get("args", []))
        args = [
            prepared(value, kind, f"argument {index}")
            for index, (value, kind) in enumerate(zip(job.get("args", []), kinds, strict=True), 1)
        ]
        wanted = job.get("kwarg_kinds", {})
        kwargs = {
            name: prepared(value, wanted.get(name), name)
            for name, value in job.get("kwargs", {}).items()
        }
    except Unfit as error:
        return {"error": str(error.args[0]), "hint": error.args[1] if error.args[1:] else ""}
    try:
        # Iterators do their work while they are converted, so one net catches both.
        return {"value": converted(function(*args, **kwargs), job.get("convert", "json"))}
    except Unfit as error:
        return {"error": f"{job['callable']}: {error.args[0]}"}
    except Exception as error:
        return {"error": f"{job['callable']}: {type(error).__name__}: {error}"}


def main():
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a function that prints must not spoil the answer
    reply = answer(json.loads(sys.stdin.buffer.read()))
    try:
        text = json.dumps(reply, allow_nan=False)
    except (ValueError, RecursionError) as error:
        text = json.dumps({"error": f"the value has no JSON form: {error}"})
    out.write(text.encode())
    out.flush()
    return 1 if "error" in reply else 0


if __name__ == "__main__":
    sys.exit(main())
