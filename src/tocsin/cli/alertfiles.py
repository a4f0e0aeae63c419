"""Which alerts does a file hold? JSON or TOML, one or several. Next: ``cli/alerts.py``."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document

_LIST_KEY = "alerts"


def parse_alerts(text: str, source: str) -> list[Document]:
    """Return the alerts that ``text`` holds; ``source`` names it, and its suffix tells TOML from JSON.

    Raises
    ------
    InvalidInput : neither JSON nor TOML, or something in it is not an alert with a name
    """
    parsed = _parse(text, source)
    source = _named(source)
    alerts = parsed.get(_LIST_KEY, [parsed] if parsed else []) if isinstance(parsed, dict) else parsed
    if not isinstance(alerts, list) or not alerts:
        raise InvalidInput(f"{source} holds no alerts.")
    for number, alert in enumerate(alerts, start=1):
        if not isinstance(alert, dict) or not isinstance(alert.get("name"), str):
            raise InvalidInput(f"{source}: alert {number} has no name.", field="name")
    return alerts


def text_of(file: str) -> str:
    """Return what a file holds, or standard input where it is called ``-``."""
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"file {file} not found") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}.") from error


def _parse(text: str, source: str) -> Any:  # Any: what a file may hold; parse_alerts checks it
    is_toml = source.endswith(".toml") or (source == "-" and text.lstrip()[:1] not in ("{", "["))
    # A TOML list of tables also begins with a bracket, but with two of them.
    if source == "-" and text.lstrip().startswith("[["):
        is_toml = True
    try:
        return tomllib.loads(text) if is_toml else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        kind = "TOML" if is_toml else "JSON"
        raise InvalidInput(f"{_named(source)} is not valid {kind}: {error}.") from error


def _named(source: str) -> str:
    return "standard input" if source == "-" else source
