"""Tests of naming: a function says what it does or returns, a variable what it holds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest

VAGUE = {
    *("one", "ones", "found", "asked", "given", "known", "kept", "wanted", "named", "shown", "made", "left", "done"),
    *("some", "others", "other", "most", "rest", "more", "mine", "own", "of", "over", "still", "every", "each", "then"),
    *("what", "this", "these", "thing", "things", "said", "held", "gone", "meant", "whole", "rows", "here", "there"),
    *("told", "taken", "chosen", "allowed", "needed", "seen", "lost", "able"),
}
"""Words that no variable is called by: the reader would have to look for what it holds."""

IRREGULAR = {
    *("found", "made", "kept", "held", "given", "told", "shown", "known", "taken", "written", "sent", "left", "lost"),
    *(
        "seen",
        "built",
        "gone",
        "begun",
        "done",
        "drawn",
        "meant",
        "said",
        "bound",
        "chosen",
        "laid",
        "hidden",
        "broken",
    ),
    *("brought", "thrown", "worn", "grown", "spoken", "fed", "led", "sought", "thought", "caught", "bent", "dealt"),
}
"""Participles that do not end in "ed"."""

NO_PARTICIPLES = {
    "feed",
    "seed",
    "need",
    "speed",
    "embed",
    "exceed",
    "proceed",
    "succeed",
    "shed",
    "bed",
    "red",
    "hundred",
}
AFTER_PARTICIPLES = {
    *("by", "of", "to", "in", "at", "for", "from", "with", "without", "among", "before", "after", "again", "once"),
    *("up", "away", "back", "out", "off", "anew", "together", "alike", "on", "over", "under", "into", "as", "than"),
    *("now", "then", "there", "here", "too", "only", "yet", "never", "not", "no", "or", "and", "all", "since", "until"),
}

FUNCTION_WORDS = AFTER_PARTICIPLES | {
    *("own", "even", "whole", "rest", "only", "both", "any", "anything", "everything", "nothing", "something", "not"),
    *("no", "same", "each", "every", "other", "others", "else", "like", "less", "more", "through", "under", "between"),
}
"""Prepositions, pronouns and the like: without a noun or a verb they say nothing."""

NO_FUNCTION_WORDS = {
    *("once", "until", "up", "back_up", "as_of", "as_of_now", "more_of", "any", "all", "not", "any_of", "all_of"),
}
"""Commands, and words of logic, SQL and time that stand for themselves."""

NO_GERUNDS = {
    *("bring", "string", "thing", "meaning", "warning", "finding", "ranking", "mapping", "listing", "ending", "timing"),
    *("handling", "renaming", "standing", "firing", "processing", "sighting", "failing", "beginning"),
}
"""Verbs and nouns that end in "ing"."""

READ_WITH_ARGUMENT = FUNCTION_WORDS - {"now", "then", "here", "there"}
"""Words that may be a public method: its object and argument say the rest, as in ``tokens.of(person)``."""

LINES_IN_SIGHT = 12
"""Lines of a function within which a reader still sees what a participle was bound to."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ROOT = Path(__file__).parents[2]
PACKAGE = Path("tocsin")
BESIDE = ("bench", "tests", "truth")
HISTORY = PACKAGE / "store" / "migrations" / "versions"
"""Migrations stay as they are."""


def is_bare_participle(name: str) -> bool:
    """Return whether a function's name says neither what it does nor what it returns: ``_shown``, ``asked_by``."""
    first, *further_words = name.strip("_").split("_")
    is_participle = first in IRREGULAR or (first.endswith("ed") and first not in NO_PARTICIPLES)
    return is_participle and all(
        word in AFTER_PARTICIPLES or word in IRREGULAR or word.endswith("ed") for word in further_words
    )


def is_without_content(name: str) -> bool:
    """Return whether a function's name has neither noun nor verb, or is a gerund alone: ``_with``, ``pointing_to``."""
    bare_name = name.strip("_")
    first, *further_words = bare_name.split("_")
    if bare_name in NO_FUNCTION_WORDS:
        return False
    is_gerund = first.endswith("ing") and first not in NO_GERUNDS
    return (is_gerund or first in FUNCTION_WORDS) and all(word in FUNCTION_WORDS for word in further_words)


def functions_without_content(tree: ast.Module) -> Iterator[str]:
    """Yield the functions of a module with such a name.

    Left out are public methods whose object and argument are read with them, and context managers, which are read after
    ``with``.
    """
    top_level = {id(node) for node in tree.body}
    statements = list(_statements(tree))
    methods = {id(member) for node in statements if isinstance(node, ast.ClassDef) for member in node.body}
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_without_content(node.name):
            is_looked_at = id(node) in top_level or (node.name.startswith("_") and not node.name.endswith("__"))
            is_read_with_argument = READ_WITH_ARGUMENT.issuperset(node.name.split("_"))
            is_looked_at = is_looked_at or (id(node) in methods and not is_read_with_argument)
            is_context = any("contextmanager" in ast.unparse(decorator) for decorator in node.decorator_list)
            is_context = is_context or (node.returns is not None and "ContextManager" in ast.unparse(node.returns))
            if is_looked_at and not is_context:
                yield node.name


def vague_names(tree: ast.Module) -> Iterator[str]:
    """Yield ``scope name`` for each function and variable of a module with such a name.

    ``left`` beside ``right`` is an operand, which languages and grammars call so.
    """
    bindings = set(_bindings(tree, ""))
    for scope, name in bindings:
        is_operand = name == "left" and (scope, "right") in bindings
        is_vague = is_bare_participle(name[:-2]) if name.endswith("()") else name in VAGUE and not is_operand
        if is_vague:
            yield f"{scope or '.'} {name}"


def participles_far_from_their_binding(tree: ast.Module) -> Iterator[str]:
    """Yield ``function name`` for each variable that is a bare participle in a function of more than a few lines."""
    for function in _statements(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and _line_count(function) > LINES_IN_SIGHT:
            bindings = set(_bindings(ast.Module(function.body, []), function.name))
            names = {name for scope, name in bindings if scope == function.name and not name.endswith("()")}
            operands = {"left"} if "right" in names else set()
            yield from (f"{function.name} {name}" for name in names - operands if is_bare_participle(name))


def _statements(parent: ast.AST) -> Iterator[ast.AST]:
    """Yield each statement below a node; expressions, most of a tree, hold no function that has a name."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(parent, part, ()):
            yield child
            yield from _statements(child)


def _line_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function's body without its docstring."""
    has_docstring = len(function.body) > 1 and ast.get_docstring(function, clean=False) is not None
    first = function.body[1 if has_docstring else 0]
    return (function.end_lineno or first.lineno) - first.lineno + 1


def _bindings(parent: ast.AST, scope: str) -> Iterator[tuple[str, str]]:
    """Yield scope and name of each function (with ``()``) and variable, but of names that a framework prescribes."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{scope}.{node.name}".lstrip(".")
            if node.name == node.name.lower():
                if not any(ast.unparse(decorator).startswith("pytest.fixture") for decorator in node.decorator_list):
                    yield scope, f"{node.name}()"  # a fixture is called as what it provides
                yield from _bindings(node, inside)
            else:  # such as ``onQueryStarted``: whoever calls it decides its name and parameters
                yield from _bindings(ast.Module(node.body, []), inside)
        elif isinstance(node, ast.ClassDef):
            yield from _bindings(node, f"{scope}.{node.name}".lstrip("."))
        elif isinstance(node, ast.Lambda) or (isinstance(node, COMPREHENSIONS) and node.lineno == node.end_lineno):
            continue
        else:
            if (name := _bound_name(node)) is not None:
                yield scope, name
            yield from _bindings(node, scope)


def _bound_name(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return name
    return None


Rule = Callable[[ast.Module], Iterator[str]]
RULES: tuple[Rule, ...] = (vague_names, participles_far_from_their_binding, functions_without_content)


@pytest.fixture(scope="module")
def violations(sources: Mapping[Path, ast.Module]) -> Mapping[Rule, list[str]]:
    """By rule, the names against it in the package, but for its migrations, and in the folders beside.

    The trees of those folders are made one by one: all of them would take much memory.
    """
    package = (
        (path, tree)
        for path, tree in sources.items()
        if path.is_relative_to(PACKAGE) and not path.is_relative_to(HISTORY)
    )
    paths_beside = (path for folder in BESIDE for path in sorted((ROOT / folder).rglob("*.py")))
    beside = ((path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths_beside)
    names: dict[Rule, list[str]] = {rule: [] for rule in RULES}
    for path, tree in chain(package, beside):
        for rule in RULES:
            names[rule] += [f"{path}: {name}" for name in sorted(rule(tree))]
    return names


def test_no_function_is_a_bare_participle_and_no_variable_vague(violations: Mapping[Rule, list[str]]) -> None:
    assert violations[vague_names] == []


def test_no_variable_of_a_longer_function_is_a_bare_participle(violations: Mapping[Rule, list[str]]) -> None:
    """Parameters are left out."""
    assert violations[participles_far_from_their_binding] == []


def test_every_function_has_a_noun_or_a_verb_in_its_name(violations: Mapping[Rule, list[str]]) -> None:
    assert violations[functions_without_content] == []


@pytest.mark.parametrize(
    ("name", "says_nothing"),
    [
        ("_with", True),
        ("_pointing", True),
        ("leading_to", True),
        ("_each_more", True),
        ("_with_event", False),
        ("edges_leading_to", False),
        ("bring", False),
        ("renaming_of", False),
        ("_until_then", True),
        ("until", False),
    ],
)
def test_prepositions_and_bare_gerunds_say_nothing(name: str, says_nothing: bool) -> None:
    assert is_without_content(name) is says_nothing


def test_methods_and_context_managers_are_read_with_what_is_around_them() -> None:
    text = (
        "@contextmanager\ndef waiting(): ...\n\n"
        "class Tokens:\n    def of(self): ...\n    def _of(self): ...\n"
        "    def pending(self): ...\n    def now(self): ...\n\n"
        "def leaving(): ...\n"
    )
    assert set(functions_without_content(ast.parse(text))) == {"_of", "pending", "now", "leaving"}


@pytest.mark.parametrize(
    ("name", "is_bare"),
    [
        ("_shown", True),
        ("asked_by", True),
        ("_taken_back", True),
        ("matched_events", False),
        ("collect_dead_letters", False),
        ("feed", False),
        ("is_rehearsed", False),
    ],
)
def test_a_participle_alone_says_nothing(name: str, is_bare: bool) -> None:
    assert is_bare_participle(name) is is_bare


def test_a_variable_may_be_vague_in_a_comprehension_of_one_line_only() -> None:
    text = "def f():\n    a = [one for one in b]\n    found = 1\n    c = [\n        one\n        for one in b\n    ]\n"
    assert set(vague_names(ast.parse(text))) == {"f found", "f one"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(left, right): ...", set()),
        ("def f(left): ...", {"f left"}),
        ("def onQueryStarted(given): found = given", {"onQueryStarted found"}),
        ("def f(value):\n    match value:\n        case Size(of=of):\n            return of", {"f of"}),
    ],
)
def test_operands_and_names_that_a_framework_prescribes_stay(text: str, names: set[str]) -> None:
    assert set(vague_names(ast.parse(text))) == names


@pytest.mark.parametrize(
    ("line_count", "names"), [(LINES_IN_SIGHT, set()), (LINES_IN_SIGHT + 1, {"f shown"})], ids=["short", "long"]
)
def test_a_participle_stands_in_short_functions_only(line_count: int, names: set[str]) -> None:
    steps = "    shown_count = 1\n" * (line_count - 2)
    text = f'def f(told):\n    """Count."""\n    shown = told\n{steps}    return shown\n'
    assert set(participles_far_from_their_binding(ast.parse(text))) == names
