"""Test that whatever goes wrong is caught in three places only: worker loop, request boundary, job main."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

BOUNDARIES = {
    ("server/http/errors.py", "__call__"),
    ("cli/main.py", "main"),
    ("client/consume/loop.py", "_offer"),
    ("ingest/loop.py", "_apply"),
    ("jobs/intervals.py", "_do"),
    ("jobs/intervals.py", "keep_running"),
    ("jobs/reminder_failures.py", "remind_apart"),
    ("jobs/digest_composer.py", "_compose_apart"),
    ("delivery/worker/attempt.py", "make"),
    ("delivery/worker/judgements.py", "_ask_together"),
    ("server/inbox/together.py", "_result_of"),
    ("delivery/worker/deliver.py", "_steadily"),
}


def test_whatever_goes_wrong_is_caught_at_the_boundaries_only(sources: Mapping[Path, ast.Module]) -> None:
    places = {
        (str(path.relative_to("tocsin")), name)
        for path, tree in sources.items()
        if path.is_relative_to("tocsin")
        for name in _functions_that_catch_everything(tree)
    }
    assert places == BOUNDARIES


def _functions_that_catch_everything(tree: ast.AST, name: str = "") -> Iterator[str]:
    """Yield the functions with a handler of all exceptions, unless it undoes something and raises the exception."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node):
            yield name
        inner_name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
        yield from _functions_that_catch_everything(node, inner_name)


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = {one.id for one in ast.walk(handler.type) if isinstance(one, ast.Name)} if handler.type else {"Exception"}
    last = handler.body[-1]
    undoes = "BaseException" in caught and isinstance(last, ast.Raise) and last.exc is None
    return bool(caught & {"Exception", "BaseException"}) and not undoes
