"""Tests of naming: the words that house-style section 4 excludes are not used."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SAY_NOTHING = {
    *("manager", "handler", "processor", "helper", "util", "utils", "common"),
    *("misc", "core", "base", "data", "info", "item"),
}

METAPHORS = {
    *("world", "scene", "crowd", "ground", "founding", "founded", "house", "aviary", "pigeons", "shelf", "lookout"),
    *("turnstile", "footing", "payer", "drift", "rhythm", "ledger", "cast", "room", "door", "talk", "shop"),
}
"""Images that stand for a thing in no manual of the field."""

ALLOWED_METAPHORS = {"cast_variant", "room", "_room", "check_room", "_has_room", "make_room", "_make_room"}
"""SQL's own word, and room for something, which every dictionary has."""

ALLOWED = {
    "base_url": "the web's own word for the address that links start with",
    "_base64": "the name of an encoding",
    "handle_DATA": "aiosmtpd calls it by this name",
    "data_received": "asyncio calls it by this name",
}
"""Names that hold such a word all the same, each with its reason."""


IMPERSONAL = re.compile(r"(?<!-)\b(somebody|whoever|what waits|is asked)\b", re.IGNORECASE)
"""Words that leave out who does something, or to what; a docstring or comment says it."""


@pytest.fixture(scope="module")
def names(sources: dict[Path, ast.Module]) -> list[tuple[Path, str]]:
    """The name of each module, class and function, with its module."""
    return list(_names(sources))


def test_no_module_class_or_function_has_a_name_that_says_nothing(names: list[tuple[Path, str]]) -> None:
    violations = [f"{path}: {name}" for path, name in names if _words(name) & SAY_NOTHING and name not in ALLOWED]
    assert violations == []


def test_no_class_or_module_is_called_by_a_metaphor(root: Path) -> None:
    paths = [path for folder in ("src", "tests", "bench", "truth") for path in sorted((root / folder).rglob("*.py"))]
    classes = {name for path in paths for name in re.findall(r"^ *class (\w+)", path.read_text(), re.MULTILINE)}
    modules = {path.stem for path in paths if not path.stem.startswith("test_")}
    assert {name for name in classes | modules if _words(name) & METAPHORS} == set()


def test_no_function_is_called_by_a_metaphor(names: list[tuple[Path, str]]) -> None:
    assert {name for _, name in names if _words(name) & METAPHORS} == ALLOWED_METAPHORS


def test_a_class_name_stands_for_one_thing(sources: dict[Path, ast.Module]) -> None:
    """Private classes and ports included."""
    places: dict[str, list[Path]] = defaultdict(list)
    for path, tree in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_docstrings_and_comments_say_who_acts(root: Path) -> None:
    places = [
        f"{path.relative_to(root)}:{line}: {text.strip()}"
        for path in sorted((root / "src").rglob("*.py"))
        if IMPERSONAL.search(source := path.read_text())  # else to take it apart would be in vain
        for line, text in _prose(source)
        if IMPERSONAL.search(text)
    ]
    assert places == []


def test_no_allowance_is_left_over(names: list[tuple[Path, str]]) -> None:
    used = {name for _, name in names}
    assert set(ALLOWED) <= used


def test_no_module_repeats_its_package(sources: dict[Path, ast.Module]) -> None:
    repeated = [str(path) for path in sources if path.parent.name and path.parent.name in path.stem.split("_")]
    assert repeated == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("RetryHandler", {"retry", "handler"}),
        ("base_url", {"base", "url"}),
        ("_HTTPBase", {"http", "base"}),
        ("database", {"database"}),
    ],
)
def test_names_are_split_into_whole_words(name: str, words: set[str]) -> None:
    assert _words(name) == words


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def _names(sources: dict[Path, ast.Module]) -> Iterator[tuple[Path, str]]:
    for path, tree in sources.items():
        yield path, path.parent.name if path.stem == "__init__" else path.stem
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node.name


def _prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comment and docstring, and the number of its first line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
