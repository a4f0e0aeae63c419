"""Proposed changes of a pull request, each with the file that makes it. Next: ``cli/check.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.model.entity import Document

Remark = Callable[[str], None]
"""Takes what could not be checked, in words."""

Progress = Callable[[int, int], None]
"""Takes the number of finished and of all steps."""


@dataclass(frozen=True)
class FiledProposal:
    """A change of one asset that files of the pull request make.

    Attributes
    ----------
    document : the change as the API takes it (``model/proposed_change.py``)
    file, line : where it is made; the line counts from 1
    """

    document: Document
    file: str
    line: int = 1

    @property
    def asset(self) -> str:
        """Return the full name of the asset."""
        return str(self.document["fullyQualifiedName"])
