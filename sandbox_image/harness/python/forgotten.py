"""
Calls that a script started and did not wait for, as in ``create_task`` without ``await``.

They are waited for at the end, as in TypeScript, and what they raise fails the run;
unless the script raced some, whose losers nobody wants.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stubs import Calls


@contextmanager
def races_noticed(calls: Calls) -> Iterator[None]:
    """Note in *calls* when the script waits for the first of several."""
    wait, as_completed = asyncio.wait, asyncio.as_completed

    def noticed_wait(*given: Any, **named: Any) -> Any:
        if named.get("return_when", asyncio.ALL_COMPLETED) != asyncio.ALL_COMPLETED or (
            named.get("timeout") is not None
        ):
            calls.raced = True
        return wait(*given, **named)

    def noticed_as_completed(*given: Any, **named: Any) -> Any:
        calls.raced = True
        return as_completed(*given, **named)

    asyncio.wait, asyncio.as_completed = noticed_wait, noticed_as_completed  # type: ignore[assignment]
    try:
        yield
    finally:
        asyncio.wait, asyncio.as_completed = wait, as_completed


async def settle(calls: Calls) -> None:
    """
    Wait until no call is in flight; the run's deadline bounds it.

    Raises:
        BaseException: What a forgotten task raised.
    """
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    raised: list[BaseException] = []

    def notice(_: Any, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), BaseException):
            raised.append(context["exception"])

    loop.set_exception_handler(notice)
    tasks: set[asyncio.Task[Any]] = set()
    try:
        await _let_tasks_run()  # one that was just created starts its call here
        while calls.is_waiting() and not calls.raced:
            tasks |= asyncio.all_tasks() - {me}
            await calls.answered()
            await _let_tasks_run()
    finally:
        loop.set_exception_handler(None)
    for task in tasks:
        # Nobody has asked for its exception, and nobody will.
        if task.done() and not task.cancelled() and getattr(task, "_log_traceback", False):
            error = task.exception()
            assert error is not None
            raised.append(error)
    if raised:
        raise raised[0]


async def _let_tasks_run() -> None:
    """What an answer wakes may pass it on through a few tasks before it calls again."""
    for _ in range(10):
        await asyncio.sleep(0)
