"""Heads of entries with the roots of their failures, as far as one reader may see these.

A root that is hidden from the reader joins nothing: two visible failures below it are two causes.
Next: ``server/access/inbox_causes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.access.person_visibility import Visibility
from tocsin.store.outbox.inbox_heads import InboxHead


def with_visible_roots(heads: Sequence[InboxHead], visibility: Visibility) -> list[InboxHead]:
    """Return heads whose facts name the root of their failure: the first that may be seen."""
    roots = {root for head in heads for root in head.roots}
    if not roots:
        return list(heads)
    visible_ids = visibility.sees([{"type": one.entity_type, "id": one.entity_id} for one in roots])
    return [head.with_root(visible_ids) for head in heads]
