"""Example calls of each function, method and relation, shown in error messages.

Next: ``conditions/check.py``.
"""

from __future__ import annotations

from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.relations import MEMBER

_ARGUMENTS = {
    "after": "'Failed'",
    "before": "'Success'",
    "categories": "'tag'",
    "columns": "'email'",
    "databases": "'ecommerce'",
    "domains": "'Sales'",
    "durations": "'6h'",
    "fields": "'followers'",
    "fqns": "'shop.sales.public.orders'",
    "ids": "'0198c0de-0000-7000-8000-000000000000'",
    "names": "'jane'",
    "paths": "'columns'",
    "schemas": "'public'",
    "services": "'shop'",
    "states": "'failed'",
    "statuses": "'Failed'",
    "suites": "'nightly'",
    "tables": "'orders'",
    "tags": "'PII.Sensitive'",
    "tiers": "'Tier.Tier1'",
    "times": "3",
    "types": "'table'",
    "users": "'jane'",
}
_OF_FIELD = {"eventType": "'entityUpdated'", "changeCategory": "'tag'"}
_METHODS = {
    "contains": "'PII.Sensitive'",
    "containsAny": "{'PII.Sensitive','PII.None'}",
    "startsWith": "'tmp_'",
    "endsWith": "'_tmp'",
    "matches": "'.*_tmp'",
}


def call_of(name: str) -> str:
    """Return how the function ``name`` is written: ``matchAnyTag('PII.Sensitive')``."""
    if name not in FUNCTIONS:
        return f"{name}('description')"
    words = FUNCTIONS[name].words
    required = [one.rstrip("+") for one in FUNCTIONS[name].parameters if not one.endswith("?")]
    return f"{name}({', '.join(_OF_FIELD.get(words.get(one, ''), _ARGUMENTS.get(one, '')) for one in required)})"


def method_of(name: str) -> str:
    """Return how the method ``name`` is written: ``contains('PII.Sensitive')``."""
    return f"{name}({_METHODS.get(name, '')})"


def relation_of(name: str) -> str:
    """Return the form of a question about a person: ``user.follows(entity)``."""
    return f"user.{name}('Finance')" if name == MEMBER else f"user.{name}(entity)"
