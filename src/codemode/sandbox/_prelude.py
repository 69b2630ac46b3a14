"""The sandbox's side of Python in Monty, as source: it runs there, never here."""

PRELUDE = """
import asyncio as _asyncio
import csv as _csv
import json as _json

_t = []
_all = {}
_idle = {}
_made = [0]
_fields = {}
_causes = []


class _Fields:
    def __init__(self, code, message, status, retryable, hint):
        self.code = code
        self.message = message
        self.status = status
        self.retryable = retryable
        self.hint = hint


def _f(value):
    if isinstance(value, _csv.Error):
        text = str(value)
        if text in _fields:
            return _fields[text]
        return _Fields("error", text, None, False, "")
    return value


class _Kind:
    def __init__(self, name):
        self.__name__ = name
        self.__qualname__ = name


def _y(kind):
    try:
        return _Kind("ToolError") if kind.__name__ == "Error" else kind
    except AttributeError:
        return _Kind(str(kind).split("'")[1].split(".")[-1])


def _g(gather):
    return _gather


async def _gather(*calls, return_exceptions=False):
    if not return_exceptions:
        return await _asyncio.gather(*calls)
    return await _asyncio.gather(*[_settled(call) for call in calls])


async def _settled(call):
    try:
        return await call
    except Exception as error:
        return error


def _c(error, cause):
    _causes.append([type(cause).__name__, str(cause)])
    return error


def _r(value):
    return ("codemode:result", _unfit(value, "result"), value)


def _unfit(value, path):
    try:
        _json.dumps(value)
        return None
    except Exception:
        return _walk(value, path, [])


def _walk(value, path, above):
    kind = type(value).__name__
    if kind == "coroutine":
        return [path, "is a call that was not awaited", "Put await before it."]
    if kind == "generator":
        return [path, "is an instance of generator", "Return list(...) of it."]
    if kind == "function" or kind == "method" or kind == "builtin_function_or_method":
        return [path, "is a function", ""]
    if kind == "type":
        return [path, "is a class", ""]
    if not isinstance(value, (dict, list, tuple, set, frozenset)):
        return None
    for one in above:
        if one is value:
            return [path, "is circular: it contains itself", ""]
    if len(above) >= 100:
        return [path, "is nested more than 100 deep", ""]
    above.append(value)
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and key.isidentifier():
                below = path + "." + key
            else:
                below = path + "[" + repr(key) + "]"
            found = _walk(item, below, above)
            if found:
                return found
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            found = _walk(item, path + "[" + str(i) + "]", above)
            if found:
                return found
    above.pop()
    return None


def _function(path, tool):
    def call(*args, **kwargs):
        return _make(path, tool, len(args), kwargs)
    return call


def _make(path, tool, n_args, kwargs):
    _made[0] += 1
    n = _made[0]
    _idle[n] = tool
    return _call(n, path, tool, n_args, kwargs)


async def _call(n, path, tool, n_args, kwargs):
    _idle.pop(n)
    reply = await _host(path, tool, n_args, kwargs, _unfit(kwargs, path))
    if reply[0]:
        return reply[1]
    code, message, status, retryable, hint = reply[1]
    _fields[message] = _Fields(code, message, status, retryable, hint)
    raise _csv.Error(message)


def _search(*args, **kwargs):
    for name, value in zip(("query", "limit"), args):
        kwargs[name] = value
    return _make("search", "codemode.search", max(0, len(args) - 2), kwargs)


def _describe(*args, **kwargs):
    if args:
        names = []
        for one in args:
            if isinstance(one, (list, tuple)):
                names.extend(one)
            else:
                names.append(one)
        kwargs["names"] = names
    return _make("describe", "codemode.describe", 0, kwargs)
"""

LEFT = "list(_idle.values())"
CAUSE = "_causes[-1] if _causes else None"
