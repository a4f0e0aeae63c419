"""Rows of ``docs/settings.md``, generated from the settings.

``python -m tests.docs.settings_page`` rewrites default and meaning of each row; a row for a new setting is added to its
section by hand (the name suffices), and a test compares the page with the settings.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic.fields import FieldInfo

from tocsin.settings import Settings

PAGE = Path(__file__).resolve().parents[2] / "docs/settings.md"
ROW = re.compile(r"^\| `(?P<name>\w+)` \|.*\|$", re.MULTILINE)


def refresh(page: str) -> str:
    """Return the page with the current default and meaning in each row; rows of unknown settings stay as they are."""

    def row(match: re.Match[str]) -> str:
        field = Settings.model_fields.get(match["name"])
        return match[0] if field is None else f"| `{match['name']}` | {_default_text(field)} | {field.description} |"

    return ROW.sub(row, page)


def _default_text(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True, validated_data={})
    if default is None:
        return "unset"
    if isinstance(default, str | Path):
        return f"`{default}`"
    return f"`{json.dumps(default)}`"


if __name__ == "__main__":
    PAGE.write_text(refresh(PAGE.read_text()))
