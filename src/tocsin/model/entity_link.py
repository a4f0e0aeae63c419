"""Entity links, which point to an entity or a part of one: ``<#E::table::shop.public.orders::columns::email>``.

Source: OpenMetadata 1.13 ``type/basic.json``, ``entityLink``. Next: ``model/mentions.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.errors import InvalidInput

_OPEN, _BETWEEN, _CLOSE = "<#E::", "::", ">"
_LONGEST = 4_000
_MOST_STEPS = 3


@dataclass(frozen=True)
class EntityLink:
    """A pointer to an entity; ``steps`` lead on to a part of it: ``columns``, ``email``, ``description``."""

    entity_type: str
    fqn: str
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{_OPEN}{_BETWEEN.join((self.entity_type, self.fqn, *self.steps))}{_CLOSE}"


def parse_link(text: object, field: str) -> EntityLink:
    """Return the link that ``text`` writes.

    Raises
    ------
    InvalidInput : it is none; ``field`` names its place
    """
    if not isinstance(text, str) or len(text) > _LONGEST or not (text.startswith(_OPEN) and text.endswith(_CLOSE)):
        raise InvalidInput("must be a link such as <#E::table::shop.public.orders>", field=field)
    entity_type, *steps = text.removeprefix(_OPEN).removesuffix(_CLOSE).split(_BETWEEN)
    if not entity_type or not steps or not all(steps) or len(steps) > _MOST_STEPS + 1:
        raise InvalidInput("must be <#E::type::fqn> or <#E::type::fqn::field::member::field>", field=field)
    return EntityLink(entity_type, steps[0], tuple(steps[1:]))


def join_steps(steps: tuple[str, ...]) -> str:
    """Return the steps of a link as one text, as they are stored."""
    return _BETWEEN.join(steps)


def steps_of(text: str) -> tuple[str, ...]:
    """Return the steps that ``join_steps`` made one text of."""
    return tuple(text.split(_BETWEEN)) if text else ()
