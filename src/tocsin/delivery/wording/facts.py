"""Facts of reports: labelled lines, and what results of tests and runs say of a failure.

``found: 3 duplicates``, ``expected: at most 0``, ``failed tasks: load, publish``.
Next: ``delivery/wording/reports.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tocsin.delivery.lines import SHOWN_LIMIT, ChangeLine, Rank, clean_line, moment_text
from tocsin.delivery.wording.parameters import parameter_text
from tocsin.model.entity import Document
from tocsin.model.phrases import in_words

_MOST_NAMED = 5
_FAILED_TASKS = frozenset({"Failed", "Aborted"})
_PERCENT = "%"
_OF_ANY_NUMBER = frozenset({"count", "value", "values", "number", "of", "total"})
"""Words of a name that say only that it is that of a number."""
_SAYS_FOUND = re.compile(r"\A\s*found\b[\s:]+(?=\S)", re.IGNORECASE)
"""The beginning of a result that says what its line begins with."""

Value = Any  # Any: a JSON value of a report


def fact_lines(label: str, text: str, *moments: tuple[str, int]) -> Iterator[ChangeLine]:
    """Yield one fact about a report, if there is one, with the times in it."""
    if text := clean_line(text, limit=SHOWN_LIMIT):
        yield ChangeLine(text, rank=Rank.REPORTED, label=label, moments=moments)


def moment_lines(label: str, at_ms: int, zone: str) -> Iterator[ChangeLine]:
    """Yield a fact about a report that is a time, epoch milliseconds."""
    moment = moment_text(at_ms, zone)
    return fact_lines(label, moment, (moment, at_ms))


def result_facts(result: Document, test: Document) -> Iterator[ChangeLine]:
    """Yield what a test found against what was expected, and how many rows failed."""
    result_text = found_text(result)
    yield from fact_lines("found", result_text)
    yield from fact_lines("expected", "; ".join(_bounds(result, test, result_text)))
    yield from fact_lines("failing rows", _failing_rows(result, result_text))


def run_facts(run: Document) -> Iterator[ChangeLine]:
    """Yield the error of a run, and the tasks that failed."""
    error = object_in(run.get("error"))
    failed_steps = [one for one in objects_in(run.get("status")) if one.get("failures")]
    failures = [one for step in failed_steps for one in objects_in(step["failures"])]
    yield from fact_lines("error", str(error.get("errorMessage") or "") or _failures_text(failures))
    tasks = [one for one in objects_in(run.get("taskStatus")) if one.get("executionStatus") in _FAILED_TASKS]
    names = [str(one.get("name", "?")) for one in (*tasks, *failed_steps)]
    names += [str(task) for task in (error.get("failedTask"),) if task and task not in names]
    yield from fact_lines("failed tasks", names_text(names))


def names_text(names: Sequence[str]) -> str:
    """Return the first names, and how many there are besides: ``a, b, c, d, e and 3 more``."""
    left_count = len(names) - _MOST_NAMED
    return f"{', '.join(names[:_MOST_NAMED])}{f' and {left_count:,} more' if left_count > 0 else ''}"


def found_text(result: Document) -> str:
    """Return what a test found: ``2 of 3 checks passed; minValue 3``, without the word that the line begins with.

    A value that the text says is not repeated: ``3 rows of 10 are null`` says ``nullCount 3``.
    """
    result_text = _SAYS_FOUND.sub("", str(result.get("result") or ""))
    values = [one for one in objects_in(result.get("testResultValue")) if one.get("value") is not None]
    further = [one for one in values if not _says(result_text, str(one.get("name", "")), str(one["value"]))]
    texts = [f"{one.get('name') or 'value'} {one['value']}" for one in further[:_MOST_NAMED]]
    return "; ".join(filter(None, (result_text, ", ".join(texts))))


def _says(text: str, name: str, number: str) -> bool:
    """Return whether a text says a number with the words by which it is called, or some of them."""
    words = {one for one in in_words(name).replace("_", " ").split() if one not in _OF_ANY_NUMBER}
    spoken = text.lower().replace(",", "")
    is_named = not words or any(word.rstrip("s") in spoken for word in words)
    return is_named and re.search(rf"(?<![\w.]){re.escape(number.lower())}(?![\w.]*\d)(?!\w)", spoken) is not None


def _bounds(result: Document, test: Document, result_text: str) -> Iterator[str]:
    """Yield what a test allows: its parameters, or else the bounds that its result names; none that its text says."""
    _, _, expected_text = result_text.partition(" expected ")
    parameters = [one for one in objects_in(test.get("parameterValues")) if one.get("value") not in (None, "")]
    for parameter in parameters[:_MOST_NAMED]:
        if not _says(expected_text, str(parameter.get("name", "")), str(parameter["value"])):
            yield parameter_text(parameter)
    for word, key in (("at least", "minBound"), ("at most", "maxBound")):
        if not parameters and isinstance(result.get(key), int | float):
            yield f"{word} {result[key]:,}"


def _failing_rows(result: Document, result_text: str) -> str:
    """Return how many rows failed: ``3 of 10``; empty where the result does not say, or what was found says so."""
    failed, passed, share = (result.get(key) for key in ("failedRows", "passedRows", "failedRowsPercentage"))
    if type(failed) is not int:
        return f"{share:g} {_PERCENT}" if isinstance(share, int | float) and not isinstance(share, bool) else ""
    numbers = [str(failed), *([str(failed + passed)] if type(passed) is int else [])]
    if all(_says(result_text, "rows", number) for number in numbers):
        return ""
    return " of ".join(f"{int(number):,}" for number in numbers)


def _failures_text(failures: Sequence[Document]) -> str:
    """Return the first failure of a run of an ingestion pipeline: ``orders: permission denied and 2 more``."""
    if not failures:
        return ""
    text = ": ".join(str(failures[0][key]) for key in ("name", "error") if failures[0].get(key))
    left_count = len(failures) - 1
    return f"{text} and {left_count:,} more" if left_count else text


def object_in(value: Value) -> dict[str, Any]:
    """Return a value that is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Value) -> list[dict[str, Any]]:
    """Return the objects of a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
