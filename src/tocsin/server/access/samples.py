"""Masking of sample data in answers, for the caller of a request.

``access/sample_masks.py`` decides what is masked. Next: ``server/routes/observations/samples.py``.
"""

from __future__ import annotations

from functools import partial

from tocsin.access import sample_masks
from tocsin.catalogue.observations.profiles import SHOWING_VALUES
from tocsin.model.entity import Document
from tocsin.server.request import Caller


def masked_tags_for(caller: Caller, asset: Document) -> frozenset[str]:
    """Return the tags whose values in an asset are masked for the caller."""
    find_owners = partial(caller.parts.reports.observations.owners, asset["id"])
    return sample_masks.masked_tags_for(caller.permissions.subject, caller.parts.settings.masked_tags, find_owners)


def masked_profile(profile: Document) -> Document:
    """Return the profile of a masked column: how much there is, but no values."""
    return {key: value for key, value in profile.items() if key not in SHOWING_VALUES}
