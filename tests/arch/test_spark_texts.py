"""Test that Spark is given no text to parse but constants: a user's text in it would be an expression of theirs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src/tocsin"
PARSED = {"expr", "selectExpr", "sql", "filter", "where", "call_function"}
"""Functions and methods of Spark that parse a text."""

STATEMENTS = {("spark/lake_sql.py", "_analyse")}
"""Functions that run a statement of a user, which is checked before and after."""

_Function = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Module:
    """A module's text and tree."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """The values of module-level names."""
        assigned = [one for one in self.tree.body if isinstance(one, ast.Assign | ast.AnnAssign) and one.value]
        targets = ((one.targets if isinstance(one, ast.Assign) else [one.target], one.value) for one in assigned)
        return {
            target.id: value for names, value in targets for target in names if isinstance(target, ast.Name) and value
        }

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield the calls of functions that parse a text, with the name of the function around them."""
        for function in [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]:
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and _name(node.func) in PARSED and not _is_python_s_own(node.func):
                    yield function.name, node


_BY_NAME = {"getattr", "attrgetter", "methodcaller", "__getattribute__"}
"""Functions that look an attribute up by its name."""


def _roundabout(module: Module) -> Iterator[str]:
    """Yield where a function that parses a text is reached by anything but a call of its own name."""
    nodes = list(ast.walk(module.tree))
    callee_ids = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    qualifier_ids = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str() as source, names=names) if source.startswith("pyspark"):
                is_other = any(_is_renamed(one) or one.name in PARSED | {"*"} for one in names)
            case ast.Import(names=names):
                is_other = any(one.name == "pyspark.sql.functions" for one in names)
            case ast.Name(id="F", ctx=ast.Load()):
                is_other = id(node) not in qualifier_ids
            case ast.Attribute(
                value=ast.Name(id="pyspark") | ast.Attribute(attr="spark", value=ast.Attribute(attr="apache"))
            ):
                is_other = False  # a package
            case ast.Attribute(attr=name):
                is_other = name in PARSED and id(node) not in callee_ids
            case ast.Call(func=function, args=arguments) if _name(function) in _BY_NAME:
                is_other = any(_may_name_one(one) for one in arguments[_name(function) == "getattr" :][:1])
            case ast.Subscript(slice=ast.Constant(value=str() as key), value=ast.Attribute(attr="__dict__")):
                is_other = key in PARSED
            case _:
                is_other = False
        if is_other:
            yield f"{module.name}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"


def _is_renamed(imported: ast.alias) -> bool:
    return imported.name == "functions" and imported.asname != "F"


def _may_name_one(argument: ast.expr) -> bool:
    """Return whether an argument is the name of a function that parses, or none that is written there."""
    return not isinstance(argument, ast.Constant) or argument.value in PARSED


def _text_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the arguments that may be texts; those of a function that is called by name are Columns."""
    return call.args[:1] if _name(call.func) in {"call_function", "sql"} else call.args


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _is_python_s_own(called: ast.expr) -> bool:
    return isinstance(called, ast.Name) and called.id == "filter"


def _may_be_built(argument: ast.expr, module: Module, function: ast.AST) -> bool:
    """Return whether ``argument`` may be a text that is no constant."""
    match argument:
        case ast.Constant() | ast.Compare() | ast.Lambda():
            return False
        case ast.Starred(value=part) | ast.UnaryOp(op=ast.Invert(), operand=part):
            parts: list[ast.expr] = [part]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr(), left=left, right=right):
            parts = [left, right]
        case ast.Name(id=name):
            constant_values = [module.constants[name]] if name in module.constants else _values(name, function)
            parts = constant_values or [ast.JoinedStr(values=[])]
        case ast.Call(func=callee):
            return not _gives_a_column(callee)
        case ast.Attribute(attr=attribute):
            return not _is_a_column(attribute)
        case _:
            return True
    return any(_may_be_built(part, module, function) for part in parts)


def _values(name: str, function: ast.AST) -> list[ast.expr]:
    """Return what a function assigns to ``name``, and its annotation if that is a Column."""
    assigned = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
    ]
    nested = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef)]
    if any(node.name == name and _says_column(node.returns) for node in nested):
        assigned.append(ast.Constant(value=name))
    arguments = [one for node in nested for one in (*node.args.args, *node.args.kwonlyargs)]
    if any(one.arg == name and _says_column(one.annotation) for one in arguments):
        assigned.append(ast.Constant(value=name))
    return assigned


def _says_column(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) in {"Column", "DataFrame"}


def _gives_a_column(called: ast.expr) -> bool:
    """Return whether a call gives a Column: of Spark's functions, of pyarrow's, of a Column's or of our own."""
    match called:
        case ast.Attribute(value=ast.Name(id="F" | "pa" | "pc"), attr=name):
            return name not in PARSED - {"filter", "call_function"}
        case ast.Attribute(value=value, attr=name):
            callee = value.func if isinstance(value, ast.Call) else None
            return (callee is not None and _gives_a_column(callee)) or _is_a_column(name)
        case ast.Name(id=name):
            return _is_a_column(name)
        case _:
            return False


def _is_a_column(name: str) -> bool:
    """Return whether every function or property of this name in ``spark`` gives a Column."""
    returned = [
        node.returns
        for module in MODULES
        if module.name.startswith("spark/")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    return bool(returned) and all(_says_column(annotation) for annotation in returned)


def _built_texts(module: Module) -> list[str]:
    return [
        f"{module.name}:{call.lineno} {ast.unparse(call)}"
        for name, call in module.calls()
        if (module.name, name) not in STATEMENTS
        and any(_may_be_built(one, module, _around(call, module)) for one in _text_arguments(call))
    ]


def _around(call: ast.Call, module: Module) -> ast.AST:
    """Return the outermost function around ``call``."""
    functions = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef))
    return next((one for one in functions if any(node is call for node in ast.walk(one))), module.tree)


def _modules() -> list[Module]:
    paths = sorted(path for folder in ("spark", "jobs") for path in (SRC / folder).glob("*.py"))
    return [Module(str(path.relative_to(SRC)), path.read_text()) for path in paths]


MODULES = _modules()


def test_spark_is_given_no_text_to_parse_but_constants() -> None:
    assert [call for module in MODULES for call in _built_texts(module)] == []
    assert sum(1 for module in MODULES for _ in module.calls()) > 20


def test_functions_that_parse_are_called_by_their_names_only() -> None:
    assert [place for module in MODULES for place in _roundabout(module)] == []


@pytest.mark.parametrize(
    "lines",
    [
        "getattr(session, 'sql')(b)",
        "getattr(session, b)(b)",
        "functools.partial(session.sql, b)",
        "run = session.sql",
        "map(F.expr, b)",
        "[*map(frame.where, b)]",
        "operator.methodcaller('filter', b)(frame)",
        "operator.attrgetter('sql')(session)(b)",
        "G = F",
        "F.__dict__['expr'](b)",
        "from pyspark.sql.functions import expr as text",
        "from pyspark.sql.functions import expr",
        "from pyspark.sql.functions import *",
        "from pyspark.sql import functions as other",
        "from pyspark.sql import functions",
        "import pyspark.sql.functions as other",
        "session.__getattribute__('sql')(b)",
    ],
)
def test_a_function_that_parses_is_found_by_whatever_way_it_is_reached(lines: str) -> None:
    assert list(_roundabout(Module("spark/example.py", lines)))


@pytest.mark.parametrize(
    "lines", ["from pyspark.sql import functions as F", "frame.where(F.col('a'))", "getattr(event, 'message', '')"]
)
def test_a_call_by_its_name_is_nothing_else(lines: str) -> None:
    assert list(_roundabout(Module("spark/example.py", lines))) == []


def test_only_these_modules_may_use_spark() -> None:
    users = [path for path in SRC.rglob("*.py") if "pyspark.sql" in path.read_text()]
    assert {path.relative_to(SRC).parts[0] for path in users} <= {"spark", "jobs"}


def test_a_statement_of_a_user_is_run_where_it_is_said() -> None:
    calls = {(module.name, name) for module in MODULES for name, _ in module.calls()}
    assert calls >= STATEMENTS


@pytest.mark.parametrize(
    "line",
    [
        'frame.where(f"a > {b}")',
        'frame.where("a > " + b)',
        'frame.where("a > %s" % b)',
        'frame.where("a > {}".format(b))',
        'frame.filter(" AND ".join(b))',
        "frame.where(b)",
        "F.expr(str(b))",
        "frame.selectExpr('*', *b)",
        "session.sql(TEXT + b)",
        "session.sql(b.text)",
        "frame.where(F.expr(b))",
        "frame.where(F.col('a') & b)",
        "F.call_function(b, frame)",
        "frame.where(TEXT.replace('a', b))",
    ],
)
def test_a_text_that_is_built_is_found_however(line: str) -> None:
    text = f"TEXT = 'a'\ndef select(frame, session, b):\n    return {line}\n"
    assert _built_texts(Module("spark/example.py", text)) != []


@pytest.mark.parametrize(
    "line",
    [
        "frame.where('a > 1')",
        "frame.where(TEXT)",
        "session.sql(TEXT, args={'b': b})",
        "frame.where(F.col('a') > b)",
        "frame.where((F.col('a') > b) & F.col('c').isNull())",
        "frame.selectExpr('*', 'a AS b')",
    ],
)
def test_constants_and_columns_are_no_built_texts(line: str) -> None:
    text = f"TEXT = 'a'\ndef select(frame, session, b):\n    return {line}\n"
    assert _built_texts(Module("spark/example.py", text)) == []
