"""
A folder of toolset files, read into a `Directory`.

Bytes in a folder are not trusted: a row that breaks the format is quarantined with
its place in the file, and the others go on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codemode.core.call import BindingModule
from codemode.core.garbage import nothing_is_garbage
from codemode.core.json_schema import InvalidSchema, check_schema, refuse_depth
from codemode.core.names import (
    camel,
    pascal,
    python_name,
    refuse_tool,
    refuse_toolset,
    snake,
)
from codemode.core.nearest import nearest
from codemode.core.spelling import modern
from codemode.core.tool import (
    UNWRITTEN,
    Binding,
    Directory,
    Quarantined,
    Schema,
    Tool,
    Toolset,
)
from codemode.errors import DirectoryError, InvalidRow
from codemode.store.format import (
    Place,
    RowFields,
    ToolsetFields,
    path_text,
    problems,
    same_words,
)
from codemode.store.locate import locate
from codemode.store.row_checks import (
    Fault,
    check_pages,
    check_python_names,
    check_samples,
    unresolved,
)

NOT_TOOLSETS = frozenset({"schema.json", "credentials.json", "servers.json"})
"""Files beside the toolsets that hold something else."""

_OLD_TEXT = re.compile(
    r'"(definitions|components|nullable|x-nullable|additionalItems|dependencies)"\s*:'
    r'|"id"\s*:\s*"|"items"\s*:\s*\[|"(exclusiveM\w+|required)"\s*:\s*(true|false)'
    r'|"type"\s*:\s*"(file|any)"|"#/(definitions|components)/'
)
"""Whether any schema of a file may be in an older spelling; saves rewriting them all."""


def load_directory(
    folder: Path,
    bindings: Mapping[str, BindingModule],
    *,
    credentials: Collection[str] | None = None,
) -> Directory:
    """
    Read every toolset of *folder*.

    Args:
        bindings: ``via`` -> binding, of all kinds a row may use.
        credentials: Names that a row's ``binding.credential`` may have; None to take any.

    Raises:
        DirectoryError: If *folder* is no folder. Nothing inside it raises.
    """
    if not folder.is_dir():
        raise DirectoryError(
            f"There is no folder {folder}.", hint="Give the folder that holds the toolset files."
        )
    files = sorted(path for path in folder.glob("*.json") if path.name not in NOT_TOOLSETS)
    loading = [_File(path, bindings, credentials) for path in files]
    with nothing_is_garbage():
        for file in loading:
            file.read()
    _refuse_same_toolsets(loading)
    for file in loading:
        file.refuse_same_names()
        file.check_inverses()
    return Directory(
        [tool for file in loading for _, tool in file.tools],
        quarantined=[fault for file in loading for fault in file.quarantined],
    )


class _File:
    """One toolset file on its way to tools."""

    def __init__(
        self,
        path: Path,
        bindings: Mapping[str, BindingModule],
        credentials: Collection[str] | None,
    ) -> None:
        self.path = path
        self.bindings = bindings
        self.credentials = credentials
        self.row_names: list[str] = []
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
            for message, place in problems(error, ToolsetFields):
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
        self.row_names = [
            row["name"]
            for row in fields.rows
            if isinstance(row, dict) and isinstance(row.get("name"), str)
        ]
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
                for message, place in unresolved(schema, kept, in_defs=True):
                    at = ("$defs", name, *place)
                    self.quarantine(message, field=path_text(at), at=at)
                    kept.pop(name, None)
                    broken = True
        return kept

    def _row(self, toolset: Toolset, default: Mapping[str, Any], index: int, row: Any) -> None:
        name = row.get("name") if isinstance(row, dict) else None
        label = name if isinstance(name, str) and name.strip() else f"row {index + 1}"
        here: Place = ("rows", index)
        try:
            fields = RowFields.model_validate(row)
        except ValidationError as error:
            for message, place in problems(error, RowFields):
                self.quarantine(message, row=label, field=path_text(place), at=(*here, *place))
            return
        try:
            self.tools.append((index, self._tool(toolset, default, fields)))
        except Fault as fault:
            at = (*here, *fault.at)
            self.quarantine(fault.message, row=label, field=path_text(fault.at), at=at)
        except InvalidRow as error:  # of a binding
            field = error.field if error.field.startswith("binding") else f"binding.{error.field}"
            place = _steps(field)
            stated = _has(row, place) or not _has({"binding": default}, place)
            message = f"{error.message} {error.hint}".strip()
            self.quarantine(
                message, row=label, field=path_text(place), at=(*here, *place) if stated else place
            )
        except Exception as error:  # whatever a row holds, it does not stop the others
            message = f"this row cannot be read ({type(error).__name__})"
            self.quarantine(message, row=label, at=here)

    def _tool(self, toolset: Toolset, default: Mapping[str, Any], row: RowFields) -> Tool:
        if row.name != snake(row.name):
            name = snake(row.name)
            instead = f"write {name!r}"
            if name in self.row_names:
                instead = f"{name!r} is another row's name, so choose one"
            raise Fault(f"a row's name is snake_case; {instead}", "name")
        if reason := refuse_tool(row.name):
            raise Fault(f"no tool may be called {row.name!r}: {reason}", "name")
        if same_words(row.description, row.when_to_use):
            raise Fault(
                "this says the same as description; say in which situation the tool is right",
                "when_to_use",
            )
        old = self.may_be_old
        args = _arguments(row.args, old)
        returns = None if row.returns is None else _checked(row.returns, "returns", old)
        for field, schema in (("args", args), ("returns", returns)) if self.has_refs else ():
            for message, place in unresolved(schema, toolset.defs):
                raise Fault(message, field, *place)
        tool = Tool(
            toolset=toolset,
            name=row.name,
            description=row.description,
            when_to_use="" if row.when_to_use.startswith(UNWRITTEN) else row.when_to_use,
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
        check_python_names(tool)
        if row.pages is not None:
            check_pages(row.pages, args)
        check_samples(tool)
        return tool

    def _binding(self, default: Mapping[str, Any], own: Mapping[str, Any], args: Schema) -> Binding:
        """The row's fields laid over the toolset's, unless the row uses another binding."""
        same = own.get("via", default.get("via")) == default.get("via")
        merged = {**default, **own} if same else dict(own)
        via = merged.pop("via", None)
        valid = ", ".join(sorted(self.bindings))
        if via is None:
            raise Fault(f"neither row nor toolset says via which binding ({valid})", "binding")
        module = self.bindings.get(via) if isinstance(via, str) else None
        if module is None:
            raise Fault(f"there is no binding {via!r}; there are {valid}", "binding", "via")
        spec = module.parse(merged, args=args)
        credential = getattr(spec, "credential", None)
        if credential is not None and self.credentials is not None:
            self._check_credential(credential)
        return Binding(via=via, spec=spec)

    def _check_credential(self, name: str) -> None:
        assert self.credentials is not None
        if name not in self.credentials:
            near = nearest(name, self.credentials)
            raise InvalidRow(
                f"there is no credential {name!r}.",
                field="binding.credential",
                hint=f"Did you mean {near[0]!r}?"
                if near
                else "Add it to credentials.json beside the toolsets, or to codemode.toml.",
            )

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

    def check_inverses(self) -> None:
        """An ``inverse`` is a row of the file; one that was left out undoes nothing."""
        kept: list[tuple[int, Tool]] = []
        for index, tool in self.tools:
            if tool.inverse is None or tool.inverse in self.row_names:
                kept.append((index, tool))
                continue
            near = nearest(tool.inverse, self.row_names)
            there = f"did you mean {near[0]!r}?" if near else "name the row that undoes this one"
            self.quarantine(
                f"{self.path.name} has no row {tool.inverse!r}; {there}",
                row=tool.name,
                field="inverse",
                at=("rows", index, "inverse"),
            )
        usable = {tool.name for _, tool in kept}
        self.tools = [
            (index, tool if tool.inverse in usable else replace(tool, inverse=None))
            for index, tool in kept
        ]


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


def _arguments(schema: Any, may_be_old: bool) -> Schema:
    """
    The schema of a row's arguments: always of an object.

    One that states no properties at all takes any.
    """
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise Fault("args is the JSON Schema of an object", "args")
    schema = _checked(schema, "args", may_be_old)
    stated = schema.get("type", "object")
    if "object" not in (stated if isinstance(stated, list) else [stated]):
        raise Fault(f"args describe an object, not {stated!r}", "args", "type")
    free = not ({"properties", "additionalProperties", "patternProperties"} & schema.keys())
    if free and {"$ref", "allOf", "anyOf", "oneOf", "required"}.isdisjoint(schema):
        return {**schema, "type": "object", "additionalProperties": True}
    return {**schema, "type": "object"}


def _checked(schema: Any, field: str, may_be_old: bool) -> Any:
    """*schema* in 2020-12 spelling, or a fault that points into it."""
    try:
        return _valid(schema, may_be_old)
    except InvalidSchema as error:
        raise Fault(error.message, field, *error.place) from None


def _valid(schema: Any, may_be_old: bool) -> Any:
    refuse_depth(schema)  # before anything follows it down
    if may_be_old:
        schema = modern(schema)
    check_schema(schema)
    return schema


def _steps(field: str) -> Place:
    """
    A binding's field as steps.

    >>> _steps("binding.argv[0].arg")
    ('binding', 'argv', 0, 'arg')
    """
    found = re.finditer(r"\[(\d+)\]|([^.\[\]]+)", field)
    return tuple(int(one[1]) if one[1] else one[2] for one in found)


def _has(value: Any, place: Place) -> bool:
    for step in place:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
