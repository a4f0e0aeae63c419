"""Check of SQL queries on the lake: one query, over one view, with functions that compute values and nothing else.

The statement is parsed first, for Spark runs commands and reads files while it analyses; what it may consist of then is
a list. Its session has no other functions than those of ``FUNCTIONS``, under whatever name. The analysed plan is
compared with the list once more, for keywords such as ``current_user`` are functions too.
Next: ``jobs/lake_queries.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from tocsin.errors import InvalidInput, TooLarge
from tocsin.spark.lake import VIEW
from tocsin.spark.lake_functions import (
    BACKTRACKING,
    EXPRESSIONS,
    FUNCTIONS,
    GROWING,
    MOST_WILDCARDS,
    PLANS,
    TABLE_FUNCTIONS,
)
from tocsin.spark.session import configure

LONGEST_SQL = 65_536
"""Characters of a statement."""

MOST_NODES = 5_000
"""Operators and expressions of a statement's plan."""

TOO_DEEP = "java.lang.StackOverflowError"
_WAY_OUT = "docs/lake.md lists what queries may use."
_CONF = {"spark.sql.runSQLOnFiles": "false", "spark.sql.variable.substitute": "false"}

Node = Any  # Any: an object of Java's


class LakeSql:
    """The statements that ``session``, which is for nothing else, may run over its view."""

    def __init__(self, session: SparkSession) -> None:
        self.session = configure(session, _CONF)
        self._state: Node = session._jsparkSession.sessionState()
        identifiers = FunctionIdentifiers(session._jvm)
        _keep_only(self._state.functionRegistry(), FUNCTIONS, identifiers)
        _keep_only(self._state.tableFunctionRegistry(), TABLE_FUNCTIONS, identifiers)
        self._known_classes = _classes_of_functions(session._jvm)

    def frame_of(self, sql: str, *, may_grow: bool = True) -> DataFrame | None:
        """Return the frame of a query, which has not run yet; None if it asks for the columns of the view.

        Parameters
        ----------
        may_grow : whether functions are allowed that make large values of small ones, or may take for ever

        Raises
        ------
        InvalidInput : it is no query, or uses what is not on the lists
        PySparkException : Spark does not understand it
        """
        if len(sql) > LONGEST_SQL:
            raise InvalidInput(f"The query has {len(sql):,} characters; at most {LONGEST_SQL:,} are allowed.")
        plan = self._parse(sql)
        if _class_of(plan) == "DescribeRelation" and [each.lower() for each in _name_of(plan.relation())] == [VIEW]:
            return None
        self._check_parsed(plan)
        frame = self._analyse(sql)
        self._check_analysed(frame._jdf.queryExecution().analyzed(), may_grow=may_grow)
        return frame

    def columns_read(self, frame: DataFrame) -> set[str]:
        """Return the columns of the view that a query of ``frame_of`` reads.

        The view is that of an RDD, one row per event.
        """
        names: set[str] = set()
        nodes_to_visit: list[tuple[Node, set[int] | None]] = [(frame._jdf.queryExecution().optimizedPlan(), None)]
        while nodes_to_visit:
            plan, needs = nodes_to_visit.pop()
            kind = _class_of(plan)
            if kind == "LogicalRDD":
                columns = _nodes_in(plan.output())
                names.update(str(one.name()) for one in columns if needs is None or one.exprId().id() in needs)
            own_needs = {one.exprId().id() for one in _nodes_in(plan.references().toSeq())}
            if kind in ("Project", "Aggregate"):
                needs = own_needs
            elif kind == "Filter" and needs is not None:
                needs = needs | own_needs
            else:  # it may hand on every column that it gets
                needs = None
            nodes_to_visit += [(child, needs) for child in _nodes_in(plan.children())]
            nodes_to_visit += [(subquery, None) for subquery in _nodes_in(plan.subqueries())]
        return names

    def _parse(self, sql: str) -> Node:
        try:
            return self._state.sqlParser().parsePlan(sql)
        except Py4JJavaError as error:
            raise refusal_of(error) from error

    def _analyse(self, sql: str) -> DataFrame:
        try:
            return self.session.sql(sql)
        except Py4JJavaError as error:  # nothing but the query has run yet
            raise refusal_of(error) from error

    def _check_parsed(self, parsed: Node) -> None:
        nodes = list(self._plans(parsed))
        names = {VIEW, *(alias.lower() for node in nodes for alias in self._cte_names(node))}
        for node in nodes:
            kind = _class_of(node)
            if kind == "UnresolvedRelation" and (_name_of(node)[1:] or _name_of(node)[0].lower() not in names):
                raise InvalidInput(f"There is no table or view {'.'.join(_name_of(node))}; query {VIEW}.")
            if kind not in PLANS:
                raise InvalidInput(f"Only queries are allowed, without {_operator_name(kind)}. {_WAY_OUT}")

    def _check_analysed(self, analysed: Node, *, may_grow: bool) -> None:
        for plan in self._plans(analysed):
            if (kind := _class_of(plan)) not in PLANS:
                raise InvalidInput(f"Queries cannot use {_operator_name(kind)}. {_WAY_OUT}")
            if _is_view(plan):
                continue
            for expression in self._expressions(plan):
                self._check_expression(expression, may_grow=may_grow)

    def _check_expression(self, expression: Node, *, may_grow: bool) -> None:
        name = str(expression.getClass().getName()).rstrip("$")
        if name not in self._known_classes and name.rpartition(".")[2] not in EXPRESSIONS:
            raise InvalidInput(f"Queries cannot use {expression.prettyName()}. {_WAY_OUT}")
        if not may_grow and str(expression.prettyName()) in GROWING:
            raise TooLarge(f"{expression.prettyName()} may need too much memory.")
        if not may_grow and _may_backtrack(expression):
            raise TooLarge(f"{expression.prettyName()} may take too long.")

    def _plans(self, root: Node) -> Iterator[Node]:
        """Yield the operators of a plan with those of its subqueries; below the view there is nothing to check."""

        def below(plan: Node) -> list[Node]:
            if _is_view(plan):
                return []
            inside = plan.innerChildren() if _class_of(plan) == "UnresolvedWith" else plan.subqueries()
            return [*_nodes_in(plan.children()), *_nodes_in(inside)]

        return _walk([root], below)

    def _expressions(self, plan: Node) -> Iterator[Node]:
        return _walk(_nodes_in(plan.expressions()), lambda one: _nodes_in(one.children()))

    def _cte_names(self, node: Node) -> Iterator[str]:
        """Yield the names that a ``WITH`` gives."""
        if _class_of(node) == "UnresolvedWith":
            yield from (str(each._2().alias()) for each in _nodes_in(node.cteRelations()))


def refusal_of(error: Py4JJavaError) -> InvalidInput:
    """Return what an error that PySpark does not know says of a query."""
    if TOO_DEEP in str(error):
        return InvalidInput("The query is nested too deeply, or a regular expression is too complex for a long text.")
    reason = str(error.java_exception.getMessage()).partition("\n")[0]
    return InvalidInput(f"Spark refuses the query: {reason}")


def _walk(roots: list[Node], below: Callable[[Node], list[Node]]) -> Iterator[Node]:
    """Yield nodes and all below them. Raises ``InvalidInput`` when there are too many."""
    pending, count = list(roots), 0
    while pending:
        node = pending.pop()
        count += 1
        if count > MOST_NODES:
            raise InvalidInput("The query is too large; split it.")
        yield node
        pending.extend(below(node))


class FunctionIdentifiers:
    """Maker of the names by which Spark registers its own functions.

    Each part of a Java name that is written costs a call of Java, so they are looked up once.
    """

    def __init__(self, jvm: Any) -> None:  # Any: Java's packages by their names
        self._identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
        option = jvm.scala.Option.apply
        self._database, self._catalog = option("builtin"), option("system")

    def of(self, name: str) -> Node:
        """Return the identifier of the function ``name``."""
        return self._identifier(name, self._database, self._catalog)


def _keep_only(registry: Node, names: frozenset[str], identifiers: FunctionIdentifiers) -> None:
    """Remove every other function of a registry."""
    for identifier in str(registry.listFunction().mkString(" ")).split():
        name = identifier.rpartition(".")[2]
        if name not in names:
            registry.dropFunction(identifiers.of(name))


@lru_cache(maxsize=1)
def _classes_of_functions(jvm: Any) -> frozenset[str]:  # Any: Java's packages by their names
    """Return the classes of all functions on the lists: those of a Spark are the same in all its sessions."""
    analysis, identifiers = jvm.org.apache.spark.sql.catalyst.analysis, FunctionIdentifiers(jvm)
    values, tables = analysis.FunctionRegistry.builtin(), analysis.TableFunctionRegistry.builtin()
    functions = (
        registry.lookupFunction(identifiers.of(name))
        for registry, names in ((values, FUNCTIONS), (tables, TABLE_FUNCTIONS))
        for name in sorted(names)
    )
    return frozenset(str(each.get().getClassName()) for each in functions if each.isDefined())


def _nodes_in(nodes: Node) -> list[Node]:
    """Return what a sequence of Scala's holds."""
    return [nodes.apply(at) for at in range(nodes.length())]


def _is_view(plan: Node) -> bool:
    """Return whether an operator is the lake's view, with all that lies below."""
    if _class_of(plan) != "View":
        return False
    description = plan.desc()
    if not plan.isTempView() or str(description.identifier().table()) != VIEW:
        raise InvalidInput(f"Queries read {VIEW} only.")
    return True


def _may_backtrack(expression: Node) -> bool:
    """Return whether matching may take for ever; of ``LIKE``, the pattern decides."""
    kind = _class_of(expression)
    if kind not in ("Like", "ILike"):
        return kind in BACKTRACKING
    pattern = expression.children().apply(1)
    return not pattern.foldable() or str(pattern.sql()).count("%") > MOST_WILDCARDS


def _class_of(node: Node) -> str:
    return str(node.getClass().getSimpleName()).rstrip("$")


def _name_of(relation: Node) -> list[str]:
    return [str(part) for part in _nodes_in(relation.multipartIdentifier())]


def _operator_name(kind: str) -> str:
    """Return the name of an operator as one reads it: ``ScriptTransformation`` as ``script transformation``."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in kind).split()
    return " ".join(word for word in words if word not in ("unresolved", "command", "plan"))
