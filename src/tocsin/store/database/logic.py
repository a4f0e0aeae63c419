"""SQL conditions of boolean formulas (``logic.py``)."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, false, not_, or_, true

from tocsin.logic import Algebra

SQL: Algebra[ColumnElement[bool]] = Algebra(
    constant=lambda holds: true() if holds else false(),
    negation=not_,
    conjunction=lambda parts: and_(*parts),
    disjunction=lambda parts: or_(*parts),
)
