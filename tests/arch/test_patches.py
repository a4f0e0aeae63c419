"""Test of what tests patch: attributes of our own modules, never of a library's, which every thread shares."""

from __future__ import annotations

import re
from pathlib import Path

_PATCHES = re.compile(r"""setattr\(\s*["'](tocsin[\w.]+)["']""")


def test_no_test_patches_a_library_through_a_module_of_ours(root: Path) -> None:
    patched = [(path, name) for path in root.glob("tests/**/*.py") for name in _PATCHES.findall(path.read_text())]
    assert [(str(path), name) for path, name in patched if not _is_in_a_module(root, name)] == []


def _is_in_a_module(root: Path, name: str) -> bool:
    """Return whether a dotted name is an attribute of a module of ours, not of something that it imports."""
    return (root / "src" / f"{name.rpartition('.')[0].replace('.', '/')}.py").is_file()


_PRIVATE = re.compile(r"""setattr\(\s*(\w+),\s*["'](_\w+)["']""")
_THRESHOLDS = {("inheritance_filters", "_FEW"), ("history", "_FEW")}
"""Numbers of rows from which a query is written in another way; its answer is the same, as the tests prove."""


def test_no_test_patches_a_private_name(root: Path) -> None:
    patched = {names for path in root.glob("tests/**/*.py") for names in _PRIVATE.findall(path.read_text())}
    assert patched == _THRESHOLDS
