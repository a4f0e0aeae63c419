"""Text of the parameters of a test for recipients: ``min value 0``, and how each has changed.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tocsin.delivery.lines import ARROW, ChangeLine, clean_line
from tocsin.delivery.wording.values import value_text
from tocsin.model.phrases import in_words

PARAMETERS = "parameterValues"
Value = Any  # Any: a JSON value


def parameter_text(parameter: dict[str, Any]) -> str:
    """Return a parameter with its value: ``min value 0``."""
    return f"{_name_of(parameter)} {value_text(parameter.get('value'))}"


def parameter_lines(old: Value, new: Value) -> Iterator[ChangeLine]:
    """Yield a line for each parameter that came, went, or has another value: ``parameter min value 0 → 5``."""
    before, after = _by_name(old), _by_name(new)
    for name, parameter in before.items():
        if name not in after:
            yield ChangeLine(clean_line(f"parameter {parameter_text(parameter)} removed"))
        elif (was := parameter.get("value")) != (value := after[name].get("value")):
            lead = clean_line(f"parameter {_name_of(parameter)}")
            was_text, text = (clean_line(value_text(one) or "none") for one in (was, value))
            yield ChangeLine(f"{lead} {was_text}{ARROW}{text}", was_text, text, lead=lead)
    for name, parameter in after.items():
        if name not in before:
            yield ChangeLine(clean_line(f"parameter {parameter_text(parameter)} added"))


def _by_name(parameters: Value) -> dict[str, dict[str, Any]]:
    """Return parameters by their names."""
    listed = parameters if isinstance(parameters, list) else ()
    return {str(one.get("name")): one for one in listed if isinstance(one, dict)}


def _name_of(parameter: dict[str, Any]) -> str:
    return in_words(str(parameter.get("name", "value")))
