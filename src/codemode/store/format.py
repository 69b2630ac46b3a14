"""The row format, as pydantic reads it; `directory/schema.json` is made from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from codemode.core.nearest import nearest
from codemode.core.tool import Effect, Verified, Where

MAX_NAME = 128

Place: TypeAlias = tuple[str | int, ...]
"""Where in a file or a row: the steps that lead there."""


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("this is blank; say it in plain words")
    return text


def _named(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("a name is printable text, not blank")
    return text


def _number_or_text(value: Any) -> Any:
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise ValueError("must be a whole number or a text")
    return value


Said = Annotated[str, Field(min_length=1), AfterValidator(_said)]
Object = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=False)

    def stated(self) -> Object:
        """The fields that the file has, as it has them."""
        return {name: value for name, value in self if name in self.model_fields_set}


class Sample(_Strict):
    """One call."""

    args: Object = {}
    returns: Any = None


class Golden(Sample):
    """One call that a test makes for real, and what it needs around it."""

    files: Object = {}
    before: Annotated[list[Any], Field(description="Commands that lay out the workspace.")] = []
    setup: Annotated[list[Any], Field(description="Calls that lay out the MCP server.")] = []
    matches: Annotated[Any, Field(description="JSON Schema that the answer fits.")] = None


class Pages(_Strict):
    """How the next page is asked for. Paths into the answer have ``/`` between their steps."""

    by: Annotated[
        Literal["page", "offset", "cursor", "last_id"],
        Field(description="What the argument counts or names."),
    ]
    arg: Annotated[str, Field(min_length=1, description="The argument that says which page.")]
    first: Annotated[
        Any,
        Field(
            description="Its value on the first page, if not 1.",
            json_schema_extra={"type": ["integer", "string"]},
        ),
        AfterValidator(_number_or_text),
    ] = 1
    size: Annotated[str, Field(description="The argument that says how long a page is.")] = ""
    max_size: Annotated[int, Field(ge=1, description="The longest a page may be.")] = 1
    items: Annotated[str, Field(description="Where the answer has the items; itself if not.")] = ""
    next: Annotated[str, Field(description="Where the answer has the next cursor.")] = ""
    id: Annotated[str, Field(description="The field of the last item that the argument takes.")] = (
        ""
    )
    more: Annotated[str, Field(description="Where the answer says whether there are more.")] = ""
    last: Annotated[str, Field(description="Where the answer has the number of pages.")] = ""
    total: Annotated[str, Field(description="Where the answer has the number of items.")] = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for by, name in (("cursor", "next"), ("last_id", "id")):
            if self.by == by and not getattr(self, name):
                raise ValueError(f"by {by} needs {name!r}: a path into the answer")
        if self.max_size > 1 and not self.size:
            raise ValueError("max_size needs 'size', the argument that it limits")
        return self


class RowFields(_Strict):
    """One tool."""

    name: Annotated[
        str,
        Field(max_length=MAX_NAME, description="snake_case; never changes once published."),
        AfterValidator(_named),
    ]
    description: Annotated[Said, Field(description="What it does, in plain words.")]
    when_to_use: Annotated[Said, Field(description="In which situation it is the right tool.")]
    args: Annotated[Any, Field(description="JSON Schema 2020-12 of the arguments, an object.")] = (
        None
    )
    returns: Annotated[Any, Field(description="JSON Schema of the answer; open to more.")] = None
    effect: Annotated[Effect, Field(description="What a call may change.")]
    binding: Annotated[Object, Field(description="Laid over the toolset's binding.")] = {}
    idempotent: bool = False
    where: Where = "any"
    source: Annotated[str, Field(description="Where the facts come from, and their date.")] = ""
    verified: Verified = "unverified"
    example: Annotated[Sample | None, Field(description='{"args": ..., "returns": ...}')] = None
    golden: list[Golden] = []
    pages: Pages | None = None
    inverse: Annotated[str | None, Field(description="The row of this toolset that undoes it.")] = (
        None
    )
    idempotency_header: str | None = None
    python_names: Annotated[
        dict[str, str], Field(description="Argument on the wire -> its Python name.")
    ] = {}


class ToolsetFields(_Strict):
    """One file of the directory."""

    schema_: Annotated[str, Field(alias="$schema")] = ""
    toolset: Annotated[str, Field(description="snake_case; the namespace scripts import.")]
    description: Annotated[Said, Field(description="What its tools are about.")]
    binding: Annotated[Object, Field(description="Default of its rows' bindings.")] = {}
    defs: Annotated[
        Object, Field(alias="$defs", description='Shared schemas: {"$ref": "#/$defs/Name"}.')
    ] = {}
    rows: list[Any]


_PLAIN = {
    # pydantic's name of a fault -> the words for it, filled from its context
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be {expected}",
    "string_too_short": "this is empty; something has to stand here",
    "string_too_long": "must be no longer than {max_length} characters",
    "greater_than_equal": "must be {ge} or more",
    "missing": "this field is required; directory/README.md says what goes there",
}


def problems(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[str, Place]]:
    """
    What *error* says of an object that *model* does not take: sentences with their places.
    """
    for one in error.errors(include_url=False, include_input=False):
        place = one["loc"]
        if one["type"] == "extra_forbidden":
            yield _no_field(str(place[-1]), _fields_at(model, place[:-1])), place
        elif plain := _PLAIN.get(one["type"]):
            yield plain.format_map(one.get("ctx", {})), place
        else:
            yield one["msg"].removeprefix("Value error, "), place


def _fields_at(model: type[BaseModel], place: Place) -> list[str]:
    inner: dict[str, type[BaseModel]] = {"example": Sample, "golden": Golden, "pages": Pages}
    at = inner[str(place[0])] if place else model
    return [field.alias or name for name, field in at.model_fields.items()]


def _no_field(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    there = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"there is no field {name!r} here; {there}"


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in no more than case, spacing and the final stop."""
    folded = [" ".join(text.split()).rstrip(".").casefold() for text in (one, other)]
    return folded[0] == folded[1]


def path_text(place: Place) -> str:
    """
    A path as messages show it.

    >>> path_text(("golden", 0, "args"))
    'golden.0.args'
    """
    return ".".join(str(step) for step in place)


def editor_schema() -> Object:
    """JSON Schema of a toolset file, for editors; `directory/schema.json` holds it."""
    file = ToolsetFields.model_json_schema(by_alias=True)
    row = RowFields.model_json_schema(by_alias=True)
    definitions = {**row.pop("$defs", {}), **file.pop("$defs", {}), "Row": row}
    file["properties"]["rows"] = {"type": "array", "items": {"$ref": "#/$defs/Row"}}
    row["properties"]["args"] |= {"type": ["object", "null"]}
    row["properties"]["returns"] |= {"type": ["object", "boolean", "null"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A toolset of a codemode directory",
        **{key: value for key, value in file.items() if key != "title"},
        "$defs": definitions,
    }


if __name__ == "__main__":
    import json
    import sys

    sys.stdout.write(json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n")
