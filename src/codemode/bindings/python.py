"""
The python binding: one library function, called inside the container.

``callable`` is ``"package.module:name"`` (the name may be dotted). Arguments are
passed by keyword, those in ``positional`` by position, in that order. ``arguments``
says which of them have to become more than JSON before the call (`KINDS`), and
``names`` which the function calls by another keyword; ``fixed`` are keyword
arguments that never change. An argument that is not given takes the schema's
default. ``convert`` says how the value
becomes JSON (`CONVERSIONS`, or ``{"method": name}`` / ``{"attributes": [names]}``).

`sandbox_image/harness/call.py` does the work: JSON in, JSON out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from codemode.bindings import SenderSettings
from codemode.bindings._command import (
    CALL_PROGRAM,
    ENVIRONMENT,
    CommandSender,
    call_answer,
    known_argument,
    properties,
    refuse_unknown,
    with_defaults,
)
from codemode.core.call import CommandRequest, Request, Response
from codemode.core.run import Command
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import BadArguments, InvalidRow

FIELDS = frozenset({"callable", "package", "positional", "arguments", "names", "fixed", "convert"})
KINDS = frozenset(
    {
        "bytes",  # text -> its UTF-8 bytes
        "base64",  # base64 text -> bytes
        "lines",  # text -> list of lines, line ends kept
        "date",
        "datetime",
        "timezone",  # IANA name -> tzinfo
        "decimal",
        "uuid",
        "tuple",
        "file",  # workspace path -> file open for reading bytes
        "text_file",  # workspace path -> file open for reading UTF-8 text
    }
)
CONVERSIONS = frozenset({"json", "text", "list", "hex", "base64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSpec:
    """
    A python row's binding.

    Args:
        function: ``module:name``.
        package: Distribution and version it was written against; "" for the standard library.
        positional: Arguments passed by position, in order.
        arguments: Argument -> kind, of `KINDS`.
        names: Argument -> the function's keyword, where they differ.
        fixed: Keyword arguments that the row settles.
        convert: A name of `CONVERSIONS`, or an object with ``method`` or ``attributes``.
    """

    function: str
    package: str = ""
    positional: tuple[str, ...] = ()
    arguments: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, JsonValue] = field(default_factory=dict)
    convert: JsonValue = "json"


class PythonBinding:
    """Library functions that run in the container's CPython."""

    via = "python"
    needs_workspace = True

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> PythonSpec:
        """
        Raises:
            InvalidRow: With the field named.
        """
        refuse_unknown(fields, FIELDS, field="binding")
        function = fields.get("callable")
        if not isinstance(function, str) or not re.fullmatch(
            r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", function
        ):
            raise InvalidRow('needs "package.module:name"', field="binding.callable")
        package = fields.get("package", "")
        if not isinstance(package, str):
            raise InvalidRow("needs a distribution and its version", field="binding.package")
        positional = fields.get("positional", [])
        if not isinstance(positional, list):
            raise InvalidRow("needs a list of arguments", field="binding.positional")
        kinds = fields.get("arguments", {})
        if not isinstance(kinds, Mapping):
            raise InvalidRow("needs an object: argument -> kind", field="binding.arguments")
        for name, kind in kinds.items():
            known_argument(name, args, field=f"binding.arguments.{name}")
            if kind not in KINDS:
                raise InvalidRow(
                    f"{kind!r} is not one of {', '.join(sorted(KINDS))}",
                    field=f"binding.arguments.{name}",
                )
        names = fields.get("names", {})
        if not isinstance(names, Mapping):
            raise InvalidRow("needs an object: argument -> keyword", field="binding.names")
        for name, keyword in names.items():
            known_argument(name, args, field=f"binding.names.{name}")
            if not isinstance(keyword, str) or not keyword.isidentifier():
                raise InvalidRow("needs a keyword", field=f"binding.names.{name}")
        fixed = fields.get("fixed", {})
        taken = {names.get(name, name) for name in properties(args)}
        if not isinstance(fixed, Mapping) or set(fixed) & taken:
            raise InvalidRow(
                "needs an object of keywords that are no arguments of the row",
                field="binding.fixed",
            )
        return PythonSpec(
            function=function,
            package=package,
            positional=tuple(
                known_argument(name, args, field=f"binding.positional[{n}]")
                for n, name in enumerate(positional)
            ),
            arguments=dict(kinds),
            names=dict(names),
            fixed=dict(fixed),
            convert=_conversion(fields.get("convert", "json")),
        )

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        """
        Raises:
            BadArguments: If a file path could leave the workspace, or a positional
                argument is missing before one that is given.
        """
        spec: PythonSpec = tool.binding.spec
        values = with_defaults(tool, args)
        given = [name for name in spec.positional if name in values]
        if given != list(spec.positional[: len(given)]):
            missing = next(name for name in spec.positional if name not in values)
            raise BadArguments(f"{missing} must be given too, because {given[-1]} comes after it")
        keyword = {name: spec.names.get(name, name) for name in values if name not in given}
        payload = {
            "callable": spec.function,
            "package": spec.package,
            "args": [values[name] for name in given],
            "kwargs": {**spec.fixed, **{keyword[name]: values[name] for name in keyword}},
            "arg_kinds": [spec.arguments.get(name) for name in given],
            "kwarg_kinds": {keyword[name]: spec.arguments.get(name) for name in keyword},
            "convert": spec.convert,
        }
        return CommandRequest(
            command=Command(
                binaries=("python3",),
                argv=("-I", CALL_PROGRAM),
                stdin=json.dumps(payload).encode(),
                env=ENVIRONMENT,
            ),
            effect=tool.effect,
        )

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue:
        """
        Raises:
            UpstreamError: If the function raised, could not be imported, or its
                value has no JSON form.
        """
        return call_answer(response.body, status=response.status, detail=response.detail)


def _conversion(convert: object) -> JsonValue:
    match convert:
        case str() if convert in CONVERSIONS:
            return convert
        case {"method": str(name), **rest} if not rest and name.isidentifier():
            return {"method": name}
        case {"attributes": [*names], **rest} if not rest and names:
            if all(isinstance(name, str) and name.isidentifier() for name in names):
                return {"attributes": names}
    raise InvalidRow(
        f'needs one of {", ".join(sorted(CONVERSIONS))}, {{"method": name}} or '
        '{"attributes": [names]}',
        field="binding.convert",
    )


BINDING = PythonBinding()


def make_sender(settings: SenderSettings) -> CommandSender:
    """Settings change nothing: the run's own workspace does the work."""
    return CommandSender()
