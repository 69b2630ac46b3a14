"""
A folder of toolset files, read into a `Directory`.

Bytes in a folder are not trusted: a row that breaks the format is quarantined with
its place in the file, and the others go on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codemode.core.call import BindingModule
from codemode.core.garbage import nothing_is_garbage
from codemode.core.json_schema import InvalidSchema, check_schema, compiled, refuse_depth
from codemode.core.names import (
    camel,
    parameters,
    pascal,
    python_name,
    refuse_tool,
    refuse_toolset,
)
from codemode.core.reference import Unresolved, find
from codemode.core.spelling import modern
from codemode.core.tool import Binding, Directory, Quarantined, Schema, Tool, Toolset
from codemode.errors import DirectoryError, InvalidRow, NameCollision
from codemode.store.format import RowFields, ToolsetFields, path_text, same_words
from codemode.store.locate import locate

NOT_TOOLSETS = frozenset({"schema.json", "credentials.json", "servers.json"})
"""Files beside the toolsets that hold something else."""

_OLD_TEXT = re.compile(
    r'"(definitions|components|nullable|x-nullable|additionalItems|dependencies)"\s*:'
    r'|"id"\s*:\s*"|"items"\s*:\s*\[|"(exclusiveM\w+|required)"\s*:\s*(true|false)'
    r'|"type"\s*:\s*"(file|any)"|"#/(definitions|components)/'
)
"""Whether any schema of a file may be in an older spelling; saves rewriting them all."""

Place = tuple[str | int, ...]


def load_directory(folder: Path, bindings: Mapping[str, BindingModule]) -> Directory:
    """
    Read every toolset of *folder*.

    Args:
        bindings: ``via`` -> binding, of all kinds a row may use.

    Raises:
        DirectoryError: If *folder* is no folder. Nothing inside it raises.
    """
    if not folder.is_dir():
        raise DirectoryError(
            f"There is no folder {folder}.", hint="Give the folder that holds the toolset files."
        )
    files = sorted(path for path in folder.glob("*.json") if path.name not in NOT_TOOLSETS)
    loading = [_File(path, bindings) for path in files]
    with nothing_is_garbage():
        for file in loading:
            file.read()
    _refuse_same_toolsets(loading)
    for file in loading:
        file.refuse_same_names()
    return Directory(
        [tool for file in loading for _, tool in file.tools],
        quarantined=[fault for file in loading for fault in file.quarantined],
    )


class _File:
    """One toolset file on its way to tools."""

    def __init__(self, path: Path, bindings: Mapping[str, BindingModule]) -> None:
        self.path = path
        self.bindings = bindings
        self.text = ""
        self.name = ""
        self.may_be_old = True
        self.has_refs = True
        self.tools: list[tuple[int, Tool]] = []
        self.quarantined: list[Quarantined] = []

    def quarantine(self, message: str, *, row: str = "", field: str = "", at: Place = ()) -> None:
        try:
            line, column = locate(self.text, at) if self.text else (0, 0)
        except RecursionError:
            line, column = 0, 0
        self.quarantined.append(
            Quarantined(
                file=str(self.path),
                toolset=self.name,
                row=row,
                field=field,
                message=message,
                line=line,
                column=column,
            )
        )

    def read(self) -> None:
        """Fill `tools` and `quarantined`."""
        document = self._parse()
        if document is None:
            return
        if isinstance(document, dict) and isinstance(document.get("toolset"), str):
            self.name = document["toolset"]
        try:
            fields = ToolsetFields.model_validate(document)
        except ValidationError as error:
            for message, place in _problems(error):
                self.quarantine(message, field=path_text(place), at=place)
            return
        if reason := refuse_toolset(self.name):
            message = f"no toolset may be called {self.name!r}: {reason}"
            self.quarantine(message, field="toolset", at=("toolset",))
            return
        toolset = Toolset(
            name=self.name,
            description=fields.description,
            defs=self._definitions(fields.defs),
            origin=self.path.name,
        )
        for index, row in enumerate(fields.rows):
            self._row(toolset, fields.binding, index, row)

    def _parse(self) -> Any:
        try:
            text = self.path.read_bytes().decode("utf-8-sig")
            document = json.loads(text, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            self.quarantined.append(
                Quarantined(
                    file=str(self.path),
                    toolset="",
                    row="",
                    field="",
                    message=f"the file is not JSON: {error.msg}",
                    line=error.lineno,
                    column=error.colno,
                )
            )
            return None
        except (OSError, ValueError, RecursionError) as error:
            self.quarantine(f"the file cannot be read: {error}")
            return None
        self.text = text
        self.may_be_old = _OLD_TEXT.search(text) is not None
        self.has_refs = "$ref" in text
        if not isinstance(document, dict):
            self.quarantine("a toolset file holds one JSON object")
            return None
        return document

    def _definitions(self, defs: Mapping[str, Any]) -> dict[str, Schema]:
        """The shared schemas that can be used; those that cannot are reported and left out."""
        kept: dict[str, Schema] = {}
        for name, schema in defs.items():
            try:
                kept[name] = _valid(schema, self.may_be_old)
            except InvalidSchema as error:
                at: Place = ("$defs", name, *error.place)
                self.quarantine(error.message, field=path_text(at), at=at)
        broken = True
        while broken:  # leaving one out may leave another without its target
            broken = False
            for name, schema in list(kept.items()):
                for message, place in _unresolved(schema, kept, in_defs=True):
                    at = ("$defs", name, *place)
                    self.quarantine(message, field=path_text(at), at=at)
                    kept.pop(name, None)
                    broken = True
        return kept

    def _row(self, toolset: Toolset, default: Mapping[str, Any], index: int, row: Any) -> None:
        name = row.get("name") if isinstance(row, dict) else None
        label = name if isinstance(name, str) and name else str(index)
        here: Place = ("rows", index)
        try:
            fields = RowFields.model_validate(row)
        except ValidationError as error:
            for message, place in _problems(error):
                self.quarantine(message, row=label, field=path_text(place), at=(*here, *place))
            return
        try:
            self.tools.append((index, self._tool(toolset, default, fields)))
        except _Fault as fault:
            at = (*here, *fault.at)
            self.quarantine(fault.message, row=label, field=path_text(fault.at), at=at)
        except InvalidRow as error:  # of a binding
            field = error.field if error.field.startswith("binding") else f"binding.{error.field}"
            place = tuple(field.rstrip(".").split("."))
            stated = _has(row, place) or not _has({"binding": default}, place)
            message = f"{error.message} {error.hint}".strip()
            self.quarantine(
                message, row=label, field=path_text(place), at=(*here, *place) if stated else place
            )
        except Exception as error:  # whatever a row holds, it does not stop the others
            message = f"this row cannot be read ({type(error).__name__})"
            self.quarantine(message, row=label, at=here)

    def _tool(self, toolset: Toolset, default: Mapping[str, Any], row: RowFields) -> Tool:
        if reason := refuse_tool(row.name):
            raise _Fault(f"no tool may be called {row.name!r}: {reason}", "name")
        if same_words(row.description, row.when_to_use):
            raise _Fault(
                "this says the same as description; say in which situation the tool is right",
                "when_to_use",
            )
        old = self.may_be_old
        args = _arguments(row.args, old)
        returns = None if row.returns is None else _checked(row.returns, "returns", old)
        for field, schema in (("args", args), ("returns", returns)) if self.has_refs else ():
            for message, place in _unresolved(schema, toolset.defs):
                raise _Fault(message, field, *place)
        tool = Tool(
            toolset=toolset,
            name=row.name,
            description=row.description,
            when_to_use=row.when_to_use,
            args=args,
            returns=returns,
            effect=row.effect,
            binding=self._binding(default, row.binding, args),
            idempotent=row.idempotent,
            where=row.where,
            source=row.source,
            verified=row.verified,
            example=None if row.example is None else row.example.stated(),
            golden=tuple(case.stated() for case in row.golden),
            pages=None if row.pages is None else row.pages.stated(),
            inverse=row.inverse,
            idempotency_header=row.idempotency_header,
            python_names=row.python_names,
        )
        _check_python_names(tool)
        _check_samples(tool)
        return tool

    def _binding(self, default: Mapping[str, Any], own: Mapping[str, Any], args: Schema) -> Binding:
        """The row's fields laid over the toolset's, unless the row uses another binding."""
        same = own.get("via", default.get("via")) == default.get("via")
        merged = {**default, **own} if same else dict(own)
        via = merged.pop("via", None)
        valid = ", ".join(sorted(self.bindings))
        if via is None:
            raise _Fault(f"neither row nor toolset says via which binding ({valid})", "binding")
        module = self.bindings.get(via) if isinstance(via, str) else None
        if module is None:
            raise _Fault(f"there is no binding {via!r}; there are {valid}", "binding", "via")
        return Binding(via=via, spec=module.parse(merged, args=args))

    def refuse_same_names(self) -> None:
        """Quarantine every row whose name, or identifier in a target, another row has too."""
        refused: dict[int, str] = {}
        for what, identifier in (
            ("name", str),
            ("TypeScript name", camel),
            ("Python name", python_name),
            ("type name", pascal),
        ):
            claimed: dict[str, list[tuple[int, Tool]]] = {}
            for index, tool in self.tools:
                claimed.setdefault(identifier(tool.name), []).append((index, tool))
            for name, claimants in claimed.items():
                if len(claimants) > 1:
                    rows = ", ".join(f"{tool.id} (row {index + 1})" for index, tool in claimants)
                    for index, _ in claimants:
                        refused.setdefault(index, f"these rows have one {what}, {name!r}: {rows}")
        for index, tool in self.tools:
            if index in refused:
                at: Place = ("rows", index, "name")
                self.quarantine(refused[index], row=tool.name, field="name", at=at)
        self.tools = [(index, tool) for index, tool in self.tools if index not in refused]


class _Fault(Exception):
    """A row cannot be used. *at* leads to the field, from the row."""

    def __init__(self, message: str, *at: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


def _refuse_same_toolsets(files: list[_File]) -> None:
    """Two files that claim one toolset, or one identifier for it, are both left out."""
    claimed: dict[str, dict[str, _File]] = {}
    for file in files:
        if file.tools or file.quarantined:
            for identifier in {camel(file.name), python_name(file.name)} if file.name else ():
                claimed.setdefault(identifier, {})[str(file.path)] = file
    for identifier, same in sorted(claimed.items()):
        if len(same) > 1:
            names = " and ".join(file.path.name for file in same.values())
            for file in same.values():
                if file.tools:
                    file.tools = []
                    message = f"{names} both hold the toolset {identifier!r}; one file, one toolset"
                    file.quarantine(message, field="toolset", at=("toolset",))


def _problems(error: ValidationError) -> Iterator[tuple[str, Place]]:
    """pydantic's findings as sentences, each with its place."""
    for one in error.errors(include_url=False, include_context=False):
        place = tuple(step for step in one["loc"])
        message = one["msg"]
        if one["type"] == "extra_forbidden":
            message = f"there is no field {place[-1]!r} here"
        elif one["type"] == "missing":
            message = "this field is required"
        yield message.removeprefix("Value error, "), place


def _arguments(schema: Any, may_be_old: bool) -> Schema:
    """
    The schema of a row's arguments: always of an object.

    One that states no properties at all takes any.
    """
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise _Fault("args is the JSON Schema of an object", "args")
    schema = _checked(schema, "args", may_be_old)
    stated = schema.get("type", "object")
    if "object" not in (stated if isinstance(stated, list) else [stated]):
        raise _Fault(f"args describe an object, not {stated!r}", "args", "type")
    free = not ({"properties", "additionalProperties", "patternProperties"} & schema.keys())
    if free and {"$ref", "allOf", "anyOf", "oneOf", "required"}.isdisjoint(schema):
        return {**schema, "type": "object", "additionalProperties": True}
    return {**schema, "type": "object"}


def _checked(schema: Any, field: str, may_be_old: bool) -> Any:
    """*schema* in 2020-12 spelling, or a fault that points into it."""
    try:
        return _valid(schema, may_be_old)
    except InvalidSchema as error:
        raise _Fault(error.message, field, *error.place) from None


def _valid(schema: Any, may_be_old: bool) -> Any:
    refuse_depth(schema)  # before anything follows it down
    if may_be_old:
        schema = modern(schema)
    check_schema(schema)
    return schema


_VALUES = frozenset({"enum", "const", "default", "example", "examples"})


def _unresolved(
    schema: Any, defs: Mapping[str, Any], *, in_defs: bool = False
) -> list[tuple[str, Place]]:
    """References inside *schema* that lead nowhere. External ones are left to the report."""
    found: list[tuple[str, Place]] = []
    stack: list[tuple[Any, Place]] = [(schema, ())]
    while stack:
        node, place = stack.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#"):
                try:
                    find(ref, schema, defs, in_defs=in_defs)
                except Unresolved as error:
                    found.append((str(error), (*place, "$ref")))
            for key, value in node.items():
                if key not in _VALUES and isinstance(value, dict | list):
                    stack.append((value, (*place, key)))
        elif isinstance(node, list):
            stack.extend((value, (*place, index)) for index, value in enumerate(node))
    return found


def _check_python_names(tool: Tool) -> None:
    properties = tool.args.get("properties")
    names = tuple(properties) if isinstance(properties, dict) else ()
    if isinstance(properties, dict):
        for name in tool.python_names:
            if name not in properties:
                raise _Fault(f"there is no argument {name!r}", "python_names", name)
    try:
        parameters(tool, names)
    except NameCollision as error:
        raise _Fault(f"{error.message} {error.hint}".strip(), "python_names") from None


def _check_samples(tool: Tool) -> None:
    """The arguments of ``example`` and ``golden`` fit ``args``."""
    samples: list[tuple[Place, Mapping[str, Any]]] = []
    if tool.example is not None:
        samples.append((("example",), tool.example))
    samples += [(("golden", index), case) for index, case in enumerate(tool.golden)]
    if not samples:
        return
    shared = tool.toolset.defs if tool.toolset.defs and "$ref" in json.dumps(tool.args) else {}
    own = tool.args.get("$defs", {})
    try:
        validator = compiled({**tool.args, "$defs": {**shared, **own}} if shared else tool.args)
    except InvalidSchema as error:
        raise _Fault(error.message, "args", *error.place) from None
    for place, sample in samples:
        try:
            errors = validator.errors(sample.get("args", {}))
        except (ValueError, RecursionError) as error:
            raise _Fault(f"the value cannot be checked: {error}", *place, "args") from None
        for found in errors:
            raise _Fault(found.message, *place, "args", *found.instance_path)


def _has(value: Any, place: Place) -> bool:
    for step in place:
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
