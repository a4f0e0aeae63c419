"""Test that public functions over DataFrames say the grain of their rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_FRAMES = ("spark", "jobs")
_GRAIN = re.compile(r"\bone row (per|in all)\b", re.IGNORECASE)


def test_a_public_function_over_a_dataframe_says_what_one_row_is(sources: dict[Path, ast.Module]) -> None:
    functions = [
        (f"{path}: {function.name}", ast.get_docstring(function) or "")
        for path, tree in sources.items()
        if path.parts[1:2] and path.parts[1] in _FRAMES
        for function in _over_frames(tree)
    ]
    assert len(functions) > 20
    assert [name for name, text in functions if not _GRAIN.search(" ".join(text.split()))] == []


def _over_frames(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in (*tree.body, *(inner for cls in classes for inner in cls.body)):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            annotations = [node.returns, *(argument.annotation for argument in arguments)]
            if any(ast.unparse(found) in ("DataFrame", "pa.Table", "pa.RecordBatch") for found in annotations if found):
                yield node
