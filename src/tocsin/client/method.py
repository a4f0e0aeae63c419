"""Conversion of a function of ``client/calls.py`` to a method with the same name, docstring and parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])  # Any: whatever the method takes and gives, kept exactly


def document_as(build: Callable[..., object]) -> Callable[[F], F]:
    """Return a decorator that makes a method show, in ``help()`` and editors, what ``build`` documents."""

    def dress(method: F) -> F:
        functools.update_wrapper(method, build)
        signature = inspect.signature(build)
        receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        new_signature = signature.replace(parameters=[receiver, *signature.parameters.values()])
        vars(method)["__signature__"] = new_signature
        del vars(method)["__wrapped__"]  # else inspect would look through the method and miss its self
        return method

    return dress
