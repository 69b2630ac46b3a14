"""The HTTP server: the verbs as routes, one API key, an OpenAPI document."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from codemode.core.render import report_json, result_json
from codemode.core.run import LANGUAGE_NAMES, FileData
from codemode.core.script import MAX_SCRIPT_CHARS
from codemode.core.search import MAX_QUERY_CHARS
from codemode.edges.guard import Guard
from codemode.errors import CodemodeError, report
from codemode.service import Codemode

DOCUMENTED = [Depends(HTTPBearer(auto_error=False))]
"""For the OpenAPI document: `Guard` has asked for the key already."""


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no text") from None
    return value


Text = Annotated[str, AfterValidator(_text)]
Languages = Literal["typescript", "python", "ts", "py"]


class Body(BaseModel):
    """A request's body. Unknown fields are errors: nothing an agent sends widens policy."""

    model_config = ConfigDict(extra="forbid")


class CheckBody(Body):
    script: Text = Field(max_length=MAX_SCRIPT_CHARS)
    language: Languages | None = None


class FileBody(Body):
    path: Text = Field(max_length=1024)
    data: str = Field(description="base64")


class RunBody(CheckBody):
    input: Any = None
    timeout_s: float | None = Field(default=None, gt=0)
    run_key: Text | None = Field(default=None, max_length=200)
    files: list[FileBody] = Field(default_factory=list, max_length=1000)
    return_files: bool = False


class SearchQuery(Body):
    query: Text = Field(default="", max_length=MAX_QUERY_CHARS)
    limit: int = Field(default=10, ge=1, le=50)
    language: Languages = "typescript"


class DescribeBody(Body):
    names: list[Text] = Field(min_length=1, max_length=100)
    language: Languages = "typescript"


def build_app(codemode: Codemode, *, api_key: str) -> Guard:
    """
    The application.

    Args:
        api_key: Every route but ``/health`` needs it as a bearer token.
    """
    app = FastAPI(title="codemode", version="1", docs_url=None, redoc_url=None)

    @app.exception_handler(CodemodeError)
    async def failed(_: Request, error: CodemodeError) -> JSONResponse:
        detail = {"code": error.code, "message": error.message, "hint": error.hint}
        return JSONResponse({"detail": detail}, status_code=report(error)[0])

    @app.exception_handler(RequestValidationError)
    async def unfit(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]  # without the input: it may be large, secret, or no text
        where = ".".join(str(part) for part in first["loc"])
        message = f"{where}: {first['msg'].removeprefix('Value error, ')}."
        detail = {"code": "bad_request", "message": message, "hint": "See GET /openapi.json."}
        return JSONResponse({"detail": detail}, status_code=422)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/search", dependencies=DOCUMENTED)
    async def search(asked: Annotated[SearchQuery, Query()]) -> dict[str, Any]:
        language = LANGUAGE_NAMES[asked.language]
        return codemode.search(asked.query, limit=asked.limit, language=language)

    @app.post("/describe", dependencies=DOCUMENTED)
    async def describe(body: DescribeBody) -> dict[str, Any]:
        return codemode.describe(body.names, language=LANGUAGE_NAMES[body.language])

    @app.post("/check", dependencies=DOCUMENTED)
    async def check(body: CheckBody) -> dict[str, Any]:
        language = LANGUAGE_NAMES.get(body.language or "")
        return report_json(await codemode.check(body.script, language=language))

    @app.post("/runs", dependencies=DOCUMENTED)
    async def run(body: RunBody, request: Request) -> dict[str, Any]:
        try:
            files = [
                FileData(path=file.path, data=base64.b64decode(file.data, validate=True))
                for file in body.files
            ]
        except ValueError:
            raise HTTPException(422, "files: data is not base64.") from None
        gone = asyncio.Event()
        watch = asyncio.create_task(_watch(request, gone))
        try:
            result = await codemode.run(
                body.script,
                language=LANGUAGE_NAMES.get(body.language or ""),
                input=body.input,
                timeout_s=body.timeout_s,
                run_key=body.run_key,
                files=files,
                collect_files=body.return_files,
                cancel=gone,
            )
        finally:
            watch.cancel()
        answer = result_json(result)
        if body.return_files:
            for entry, file in zip(answer["files"], result.files, strict=True):
                entry["data"] = base64.b64encode(file.data).decode()
        return answer

    @app.get("/runs", dependencies=DOCUMENTED)
    async def runs(limit: Annotated[int, Query(ge=1, le=200)] = 20) -> list[dict[str, Any]]:
        return codemode.list_runs(limit=limit)

    @app.get("/runs/{run_id}", dependencies=DOCUMENTED)
    async def one_run(run_id: str) -> dict[str, Any]:
        return codemode.read_run(run_id)

    return Guard(app, api_key=api_key)


async def _watch(request: Request, gone: asyncio.Event) -> None:
    """Set *gone* when the client goes away, so that its run is cancelled."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()
