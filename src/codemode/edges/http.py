"""The HTTP server: the verbs as routes, one API key, an OpenAPI document."""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from codemode.core.render import report_json, result_json
from codemode.core.run import FileData
from codemode.core.script import MAX_SCRIPT_CHARS
from codemode.errors import CodemodeError, report
from codemode.service import Codemode

Language = Literal["typescript", "python"]
MAX_BODY_BYTES = 96 * 1024 * 1024


Given = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


class Body(BaseModel):
    """A request's body. Unknown fields are errors: nothing an agent sends widens policy."""

    model_config = ConfigDict(extra="forbid")


class CheckBody(Body):
    script: str = Field(max_length=MAX_SCRIPT_CHARS)
    language: Language | None = None


class FileBody(Body):
    path: str = Field(max_length=1024)
    data: str = Field(description="base64")


class RunBody(CheckBody):
    input: Any = None
    timeout_s: float | None = Field(default=None, gt=0)
    run_key: str | None = Field(default=None, max_length=200)
    files: list[FileBody] = Field(default_factory=list, max_length=1000)
    return_files: bool = False


class DescribeBody(Body):
    names: list[str] = Field(min_length=1, max_length=100)
    language: Language = "typescript"


def build_app(codemode: Codemode, *, api_key: str) -> FastAPI:
    """
    The application.

    Args:
        api_key: Every route but ``/health`` needs it as a bearer token.
    """
    app = FastAPI(title="codemode", version="1", docs_url=None, redoc_url=None)

    async def allowed(given: Given) -> None:
        token = given.credentials if given else ""
        if not hmac.compare_digest(token.encode(), api_key.encode()):
            raise HTTPException(401, "A bearer token with the API key is needed.")

    guarded = [Depends(allowed)]

    @app.middleware("http")
    async def bounded(request: Request, call_next: Callable[[Request], Awaitable[Any]]) -> Any:
        length = request.headers.get("content-length", "0")
        if request.method == "POST" and "content-length" not in request.headers:
            return JSONResponse({"detail": "Content-Length is needed."}, status_code=411)
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return JSONResponse({"detail": "The body is too large."}, status_code=413)
        return await call_next(request)

    @app.exception_handler(CodemodeError)
    async def failed(_: Request, error: CodemodeError) -> JSONResponse:
        detail = {"code": error.code, "message": error.message, "hint": error.hint}
        return JSONResponse({"detail": detail}, status_code=report(error)[0])

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/search", dependencies=guarded)
    async def search(
        query: str = "",
        limit: Annotated[int, Query(ge=1, le=50)] = 10,
        language: Language = "typescript",
    ) -> dict[str, Any]:
        return codemode.search(query, limit=limit, language=language)

    @app.post("/describe", dependencies=guarded)
    async def describe(body: DescribeBody) -> dict[str, Any]:
        return codemode.describe(body.names, language=body.language)

    @app.post("/check", dependencies=guarded)
    async def check(body: CheckBody) -> dict[str, Any]:
        return report_json(await codemode.check(body.script, language=body.language))

    @app.post("/runs", dependencies=guarded)
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
                language=body.language,
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

    @app.get("/runs", dependencies=guarded)
    async def runs(limit: Annotated[int, Query(ge=1, le=200)] = 20) -> list[dict[str, Any]]:
        return codemode.list_runs(limit=limit)

    @app.get("/runs/{run_id}", dependencies=guarded)
    async def one_run(run_id: str) -> dict[str, Any]:
        return codemode.read_run(run_id)

    return app


async def _watch(request: Request, gone: asyncio.Event) -> None:
    """Set *gone* when the client goes away, so that its run is cancelled."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()
