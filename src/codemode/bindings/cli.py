"""
The cli binding: typed arguments become an argv list, never a shell string.

``argv`` is a list of

* ``"literal"``
* ``{"arg": "name"}``: the value; of a list ``"repeat": true`` makes one word per
  item, ``"join": ","`` one word of all
* ``{"flag": "--width", "arg": "name"}``: the flag, then the value; a flag that
  ends in ``=`` is joined with it. With ``"when": value`` the flag stands alone,
  and only if the argument has that value
* ``{"text": "{width}x{height}"}``: one word made of several arguments

An argument that is not given (and has no default in the schema) leaves its item
out. A value that begins with ``-`` is refused unless a literal ``--`` stands
before it or a flag takes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from glob import escape
from typing import Any

from codemode.bindings import SenderSettings
from codemode.bindings._command import (
    ENVIRONMENT,
    CommandSender,
    is_file,
    known_argument,
    properties,
    refuse_unknown,
    short,
    with_defaults,
)
from codemode.core.call import CommandRequest, Request, Response
from codemode.core.run import Command
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import BadAnswer, BadArguments, InvalidRow, UpstreamError

FIELDS = frozenset(
    {"binary", "argv", "stdin", "exit_ok", "parse", "outputs", "env", "empty", "timeout_s"}
)
ITEM_FIELDS = frozenset({"arg", "flag", "repeat", "join", "when", "text"})
PLAIN_PARSERS = frozenset({"text", "lines", "json"})
HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
SPECIAL_PATH = re.compile(r"@|[A-Za-z][A-Za-z0-9+.-]*:")

_UNSET: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """
    One piece of an argv template; one of *literal*, *text* and *arg* is set.

    Args:
        when: The value at which the flag stands, or a mark that says "any".
    """

    literal: str | None = None
    text: str | None = None
    arg: str | None = None
    flag: str | None = None
    repeat: bool = False
    join: str | None = None
    when: JsonValue = _UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A file the program makes: the argument that names it, or a pattern over arguments."""

    arg: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CliSpec:
    """
    A cli row's binding.

    Args:
        binaries: Program names, tried in order.
        stdin: The argument that is written to its standard input, or None.
        exit_ok: Exit codes that are an answer.
        parse: ``text``, ``lines``, ``json``, ``jc:NAME``, or "" where the files it
            makes are the answer.
        empty: Answer where stdout is empty and *parse* needs something.
    """

    binaries: tuple[str, ...]
    argv: tuple[Item, ...]
    stdin: str | None = None
    exit_ok: tuple[int, ...] = (0,)
    parse: str = "text"
    outputs: tuple[Output, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    empty: JsonValue = _UNSET
    timeout_s: float = 300.0


class CliBinding:
    """Programs that run in the container, next to the script."""

    via = "cli"
    needs_workspace = True

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> CliSpec:
        """
        Raises:
            InvalidRow: With the field named.
        """
        refuse_unknown(fields, FIELDS, field="binding")
        binaries = fields.get("binary")
        if not isinstance(binaries, list) or not binaries or not all(map(_is_program, binaries)):
            raise InvalidRow(
                "needs a list of program names, without folders", field="binding.binary"
            )
        argv = fields.get("argv")
        if not isinstance(argv, list):
            raise InvalidRow("needs a list", field="binding.argv")
        stdin = fields.get("stdin")
        if stdin is not None:
            stdin = known_argument(stdin, args, field="binding.stdin")
        exit_ok = fields.get("exit_ok", [0])
        if not isinstance(exit_ok, list) or not all(type(code) is int for code in exit_ok):
            raise InvalidRow("needs a list of exit codes", field="binding.exit_ok")
        env = fields.get("env", {})
        if not isinstance(env, Mapping) or not all(isinstance(v, str) for v in env.values()):
            raise InvalidRow("needs an object of strings", field="binding.env")
        timeout_s = fields.get("timeout_s", 300.0)
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or timeout_s <= 0:
            raise InvalidRow("needs seconds above 0", field="binding.timeout_s")
        outputs = fields.get("outputs", [])
        if not isinstance(outputs, list):
            raise InvalidRow("needs a list", field="binding.outputs")
        return CliSpec(
            binaries=tuple(binaries),
            argv=tuple(
                _item(item, args, field=f"binding.argv[{n}]") for n, item in enumerate(argv)
            ),
            stdin=stdin,
            exit_ok=tuple(exit_ok),
            parse=_parser(fields.get("parse", "" if outputs else "text")),
            outputs=tuple(
                _output(item, args, field=f"binding.outputs[{n}]") for n, item in enumerate(outputs)
            ),
            env=dict(env),
            empty=fields.get("empty", _UNSET),
            timeout_s=float(timeout_s),
        )

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        """
        Raises:
            BadArguments: If a value would be taken for an option, or a file path
                could leave the workspace.
        """
        spec: CliSpec = tool.binding.spec
        given = with_defaults(tool, args)
        values = {
            # null says "not given": no program has a word for it
            name: _plain_path(value) if is_file(properties(tool.args)[name]) else value
            for name, value in given.items()
            if value is not None
        }
        return CommandRequest(
            command=Command(
                binaries=spec.binaries,
                argv=tuple(_words(spec, values)),
                stdin=_stdin(spec, values),
                env={**ENVIRONMENT, **spec.env},
                timeout_s=spec.timeout_s,
            ),
            outputs=tuple(_pattern(output, given) for output in spec.outputs),
            effect=tool.effect,
        )

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue:
        """
        The parsed output, or where *parse* is "" the paths of the files made.

        Raises:
            UpstreamError: On another exit code.
            BadAnswer: If the output is not what the row says, or a file is not there.
        """
        spec: CliSpec = tool.binding.spec
        program = spec.binaries[0]
        if response.status not in spec.exit_ok:
            reason = short(response.detail) or short(response.body.decode("utf-8", "replace"))
            raise UpstreamError(
                f"{program} ended with exit code {response.status}. {reason}".strip(),
                status=response.status,
            )
        files = response.value if isinstance(response.value, list) else []
        made: dict[str, JsonValue] = {}
        for output, found in zip(spec.outputs, files, strict=False):
            if output.arg is None:
                made[output.pattern or ""] = found
            elif found:
                made[output.arg] = found[0]
            else:
                raise BadAnswer(
                    f"{program} ended well but did not make {output.arg}. {short(response.detail)}"
                )
        if spec.parse:
            return _parsed(spec, response)
        return next(iter(made.values())) if len(spec.outputs) == 1 else made


def _is_program(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) is not None


def _parser(name: object) -> str:
    if isinstance(name, str) and (
        name in PLAIN_PARSERS or name == "" or re.fullmatch(r"jc:[a-z0-9-]+", name)
    ):
        return name
    raise InvalidRow("needs text, lines, json or jc:PARSER", field="binding.parse")


def _item(item: object, args: Schema, *, field: str) -> Item:
    if isinstance(item, str):
        return Item(literal=item)
    if not isinstance(item, Mapping):
        raise InvalidRow("needs a string or an object", field=field)
    refuse_unknown(item, ITEM_FIELDS, field=field)
    if "text" in item:
        if set(item) != {"text"} or not isinstance(item["text"], str):
            raise InvalidRow("text stands alone and is a string", field=field)
        for name in HOLE.findall(item["text"]):
            known_argument(name, args, field=f"{field}.text")
        return Item(text=item["text"])
    arg = known_argument(item.get("arg"), args, field=f"{field}.arg")
    flag, repeat, join = item.get("flag"), item.get("repeat", False), item.get("join")
    if flag is not None and not (isinstance(flag, str) and flag):
        raise InvalidRow("needs a string", field=f"{field}.flag")
    if not isinstance(repeat, bool):
        raise InvalidRow("needs true or false", field=f"{field}.repeat")
    if join is not None and (repeat or not isinstance(join, str)):
        raise InvalidRow("needs a string, and no repeat beside it", field=f"{field}.join")
    if "when" in item and flag is None:
        raise InvalidRow("only a flag can depend on a value", field=f"{field}.when")
    kind = properties(args)[arg].get("type")
    if kind == "boolean" and "when" not in item:
        raise InvalidRow(f"{arg} is a boolean: say when the flag stands", field=f"{field}.when")
    if (kind == "array") != (repeat or join is not None) and "when" not in item:
        raise InvalidRow(
            f"{arg}: repeat or join goes with a list, and only there", field=f"{field}.repeat"
        )
    return Item(arg=arg, flag=flag, repeat=repeat, join=join, when=item.get("when", _UNSET))


def _output(item: object, args: Schema, *, field: str) -> Output:
    if isinstance(item, str):
        return Output(arg=known_argument(item, args, field=field))
    if isinstance(item, Mapping) and set(item) == {"glob"} and isinstance(item["glob"], str):
        for name in HOLE.findall(item["glob"]):
            known_argument(name, args, field=f"{field}.glob")
        return Output(pattern=item["glob"])
    raise InvalidRow('needs an argument\'s name or {"glob": pattern}', field=field)


def _plain_path(value: JsonValue) -> JsonValue:
    """
    A path that no program takes for more: ``text:/etc/passwd`` and ``@list`` are
    instructions to ImageMagick, ``host:file`` is another machine's file to tar.
    """
    if isinstance(value, list):
        return [_plain_path(one) for one in value]
    return f"./{value}" if SPECIAL_PATH.match(value) else value


def _words(spec: CliSpec, values: Mapping[str, JsonValue]) -> Iterator[str]:
    guarded = False
    for item in spec.argv:
        if item.literal is not None:
            guarded = guarded or item.literal == "--"
            yield item.literal
        elif item.text is not None:
            if all(name in values for name in HOLE.findall(item.text)):
                word = HOLE.sub(lambda hole: _word(values[hole[1]], hole[1]), item.text)
                yield word if guarded or item.text.startswith("-") else _bare(word, item.text)
        elif item.arg is not None and item.arg in values:
            yield from _argument(item, values[item.arg], guarded)


def _argument(item: Item, value: JsonValue, guarded: bool) -> Iterator[str]:
    assert item.arg is not None
    if item.when is not _UNSET:
        if type(value) is type(item.when) and value == item.when:
            assert item.flag is not None
            yield item.flag
        return
    if item.join is not None:
        value = item.join.join(_word(one, item.arg) for one in value)
    for one in value if item.repeat else [value]:
        word = _word(one, item.arg)
        if item.flag is None:
            yield word if guarded else _bare(word, item.arg)
        elif item.flag.endswith("="):
            yield item.flag + word
        else:
            yield item.flag
            yield word


def _bare(word: str, name: str) -> str:
    if word.startswith("-"):
        raise BadArguments(
            f"{name}: {word!r} would be taken for an option", hint="Leave out the leading '-'."
        )
    return word


def _word(value: JsonValue, name: str) -> str:
    match value:
        case str():
            if "\0" in value:
                raise BadArguments(f"{name}: a word of a command cannot hold NUL")
            try:
                value.encode()
            except UnicodeEncodeError:
                raise BadArguments(f"{name}: {value!r} is not valid Unicode text") from None
            return value
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case _:
            return json.dumps(value, ensure_ascii=False)


def _stdin(spec: CliSpec, values: Mapping[str, JsonValue]) -> bytes:
    value = values.get(spec.stdin) if spec.stdin is not None else None
    if value is None:
        return b""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadArguments(f"{spec.stdin}: not valid Unicode text") from None


def _pattern(output: Output, values: Mapping[str, JsonValue]) -> str:
    if output.arg is not None:
        return escape(str(values.get(output.arg, "")))
    assert output.pattern is not None
    return HOLE.sub(lambda hole: escape(str(values.get(hole[1], ""))), output.pattern)


def _parsed(spec: CliSpec, response: Response) -> JsonValue:
    text = response.body.decode("utf-8", "replace")
    program = spec.binaries[0]
    if spec.empty is not _UNSET and not text.strip():
        return spec.empty
    if spec.parse == "text":
        return text.removesuffix("\n")
    if spec.parse == "lines":
        return text.splitlines()
    if spec.parse == "json":
        try:
            return json.loads(text)
        except ValueError as error:
            raise BadAnswer(
                f"{program} did not print JSON: {error}. It printed {text[:200]!r}."
            ) from None
    return _jc(spec.parse.removeprefix("jc:"), text, program)


def _jc(parser: str, text: str, program: str) -> JsonValue:
    import jc  # a hundred parsers are behind it; loaded by the first row that wants one

    try:
        return jc.parse(parser, text, quiet=True)
    except Exception as error:  # jc raises whatever its parser tripped over
        raise BadAnswer(
            f"jc's parser {parser!r} could not read what {program} printed: {error}"
        ) from None


BINDING = CliBinding()


def make_sender(settings: SenderSettings) -> CommandSender:
    """Settings change nothing: the run's own workspace does the work."""
    return CommandSender()
