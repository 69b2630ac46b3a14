"""The row format, as pydantic reads it; `directory/schema.json` is made from it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from codemode.core.tool import Effect, Verified, Where

MAX_NAME = 128


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("this is blank; say it in plain words")
    return text


def _named(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("a name is printable text, not blank")
    return text


Said = Annotated[str, Field(min_length=1), AfterValidator(_said)]
Object = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=False)


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
    example: Annotated[Object | None, Field(description='{"args": ..., "returns": ...}')] = None
    golden: list[Object] = []
    pages: Object | None = None
    inverse: str | None = None
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


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in no more than case, spacing and the final stop."""
    folded = [" ".join(text.split()).rstrip(".").casefold() for text in (one, other)]
    return folded[0] == folded[1]


def path_text(place: tuple[str | int, ...]) -> str:
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
