"""
A Python script as an async function, with every line and column where it was.

Top-level ``await`` and ``return`` are the script's; the names it binds are
module globals, so ``global`` statements, nested functions and ``globals()`` see
what they would see in a module.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import sys
import types
from collections.abc import Awaitable, Callable
from typing import Any

FILENAME = "<script>"
ENTRY = "__codemode_script__"
NOTHING = object()
"""What a script returns that ends without ``return`` and a value."""
_NOTHING = "__codemode_nothing__"
_FIRST = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class _TopLevel(ast.NodeTransformer):
    """Rewrites what a function body may not hold, outside nested scopes."""

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        # `x: int = 1` may not name a global; the annotation means nothing at run time.
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if any(alias.name == "*" for alias in node.names):
            raise _refused(node, 'write the names that you need instead of "import *"')
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return node if node.value is not None else _return_nothing(node.lineno, node.col_offset)

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)  # they all are


class _Yields(ast.NodeVisitor):
    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, SCOPES):
            super().visit(node)

    def visit_Yield(self, node: ast.Yield) -> None:
        raise _refused(node, "yield stands outside a function; use return or print")

    visit_YieldFrom = visit_Yield


def _refused(node: ast.expr | ast.stmt, problem: str) -> SyntaxError:
    return SyntaxError(problem, (FILENAME, node.lineno, node.col_offset + 1, None))


def _return_nothing(line: int, column: int) -> ast.stmt:
    place = {
        "lineno": line,
        "col_offset": column,
        "end_lineno": line,
        "end_col_offset": column,
    }
    return ast.Return(value=ast.Name(id=_NOTHING, ctx=ast.Load(), **place), **place)


def compile_script(source: str, input_value: Any) -> Callable[[], Awaitable[Any]]:
    """
    Make *source* callable; nothing of it has run yet.

    Raises:
        SyntaxError: With the line and column in *source*.
    """
    tree = ast.parse(source, FILENAME)
    _Yields().generic_visit(tree)
    future = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    body = [_TopLevel().visit(node) for node in tree.body if node not in future]
    body.append(_return_nothing(source.count("\n") + 1, 0))
    namespace = types.ModuleType("__main__")
    vars(namespace).update(__builtins__=builtins, __file__=FILENAME, input=input_value)
    setattr(namespace, _NOTHING, NOTHING)
    names = sorted(_bound(_compile(future, body)))
    if names:
        body.insert(0, ast.Global(names=names, **_FIRST))
    exec(_compile(future, body), vars(namespace))
    sys.modules["__main__"] = namespace
    entry: Callable[[], Awaitable[Any]] = vars(namespace).pop(ENTRY)
    return entry


def _compile(future: list[ast.ImportFrom], body: list[ast.stmt]) -> types.CodeType:
    function = ast.AsyncFunctionDef(
        name=ENTRY,
        args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=body,
        decorator_list=[],
        type_params=[],
        **{**_FIRST, "end_lineno": body[-1].end_lineno},
    )
    module = ast.fix_missing_locations(ast.Module(body=[*future, function], type_ignores=[]))
    # Annotations are for the checker: the types that `tools` declares are not there at run time.
    flags = __future__.annotations.compiler_flag
    code: types.CodeType = compile(module, FILENAME, "exec", flags, dont_inherit=True)
    return code


def _bound(module: types.CodeType) -> set[str]:
    """Names that the script binds at its top level."""
    (entry,) = (
        const
        for const in module.co_consts
        if isinstance(const, types.CodeType) and const.co_name == ENTRY
    )
    return {*entry.co_varnames, *entry.co_cellvars} - {".0"}
