"""Parser of alert files, JSON or TOML, one alert or several; and what of an alert belongs into one.

Next: ``cli/alerts.py``.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import nearest

_LIST_KEY = "alerts"
_WRITTEN_BY_THE_SERVER = frozenset(
    "id fullyQualifiedName href version updatedAt updatedBy changeDescription incrementalChangeDescription "
    "provider".split()
)
_OF_A_LABEL = ("tagFQN", "source", "labelType", "state")
_ENDINGS = (".json", ".toml")
_KEYS = (
    "name|displayName|description|alertType|enabled|owners|domains|tags|extension|"
    "trigger|resources|input|filteringRules|destinations|alerts"
)
_COMMENTS = r"(?:\s|#[^\n]*\n)*"
_JSON = re.compile(r'\s*(?:\{\s*(?:"[^"]*"\s*:|\})|\[\s*[\]{])')
_TOML = re.compile(rf"{_COMMENTS}(?:\[\[\s*[A-Za-z]|\[\s*(?:{_KEYS})\b|(?:{_KEYS})(?:\.\w+)*\s*=(?!=))")
"""How alerts begin, and conditions do not."""


def holds_alerts(text: str, source: str) -> bool:
    """Return whether ``text`` is alerts, not conditions: by the file's name, or on standard input by how it begins."""
    return source.endswith(_ENDINGS) or (source == "-" and any(form.match(text) for form in (_JSON, _TOML)))


def parse_alerts(text: str, source: str) -> list[Document]:
    """Return the alerts that ``text`` holds; ``source`` names it, and its suffix distinguishes TOML from JSON.

    Raises
    ------
    InvalidInput : neither JSON nor TOML, or something in it is not an alert with a name
    """
    parsed = _parse(text, source)
    source = named(source)
    alerts = _listed(parsed, source) if isinstance(parsed, dict) else parsed
    if not isinstance(alerts, list) or not alerts:
        raise InvalidInput(f"{source} contains no alerts.")
    for number, alert in enumerate(alerts, start=1):
        if not isinstance(alert, dict) or not isinstance(alert.get("name"), str):
            raise InvalidInput(f"{source}: alert {number} has no name.", field="name")
    return alerts


def text_of(file: str) -> str:
    """Return what a file holds, or standard input where it is called ``-``."""
    if file == "-":
        return _standard_input()
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"file {file} not found") from error
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {(error.strerror or str(error)).lower()}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} cannot be read: byte {error.start + 1} is not UTF-8.") from error


def exported(alert: Document) -> Document:
    """Return what of an alert belongs into a file: without what the server writes and what is inherited or derived.

    Owners and domains are named, not identified, so that the file fits another server. Secrets are masks: where the
    alert exists, they stay what they are.
    """
    kept = {key: value for key, value in alert.items() if key not in _WRITTEN_BY_THE_SERVER}
    for key in {"owners", "domains"} & kept.keys():
        kept[key] = [_named_by(one) for one in kept[key] if not one.get("inherited")]
    if "tags" in kept:
        own = (label for label in kept["tags"] if label.get("labelType") != "Derived")
        kept["tags"] = [{key: label[key] for key in _OF_A_LABEL if key in label} for label in own]
    return {key: value for key, value in kept.items() if value not in ([], {})}


def _named_by(reference: Document) -> Document:
    name = "fullyQualifiedName" if reference["type"] == "domain" else "name"
    return {"type": reference["type"], name: reference[name]}


def named(source: str) -> str:
    """Return what a file is called: ``-`` is standard input."""
    return "standard input" if source == "-" else source


def _parse(text: str, source: str) -> Any:  # Any: what a file may hold; parse_alerts checks it
    is_toml = source.endswith(".toml") or (source == "-" and _is_toml(text))
    try:
        # A TOML file may hold dates, of which an alert has none: to the server they are texts.
        parsed = json.loads(json.dumps(tomllib.loads(text), default=str)) if is_toml else json.loads(text)
        json.dumps(parsed, ensure_ascii=False).encode()
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        kind = "TOML" if is_toml else "JSON"
        raise InvalidInput(f"{named(source)} is not valid {kind}: {error}.{_hint_of_quotes(text, error)}") from error
    except RecursionError as error:
        raise InvalidInput(f"{named(source)} is nested too deeply.") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise InvalidInput(f"{named(source)} contains {half!a}, an incomplete character.") from error
    return parsed


def _hint_of_quotes(text: str, error: tomllib.TOMLDecodeError | json.JSONDecodeError) -> str:
    """Return a hint where the quotes of a condition end the string that contains it; empty for all else."""
    found = re.search(r"line (\d+)", str(error))
    lines = dict(enumerate(text.splitlines(), start=1))
    line = lines.get(int(found[1]), "") if found else ""
    is_condition = re.search(r"""\bcondition"?\s*[=:]\s*(["']).*\1.*\1""", line)
    return " Within double quotes, write the quotes of a condition as '." if is_condition else ""


def _is_toml(text: str) -> bool:
    """Return whether standard input is TOML: there a list of tables may begin with a bracket, too."""
    return text.lstrip()[:1] not in ("{", "[") or _TOML.match(text) is not None


def _listed(parsed: Document, source: str) -> Any:  # Any: as above
    """Return the list under ``alerts``, or the one alert that the file is."""
    written = next((key for key in parsed if nearest(key, (_LIST_KEY,))), None)
    if _LIST_KEY not in parsed and "name" not in parsed and written is not None:
        raise InvalidInput(f"{source} contains no alerts: unknown key {written}; did you mean {_LIST_KEY}?")
    return parsed.get(_LIST_KEY, [parsed] if parsed else [])


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidInput("Standard input cannot be read: it is not UTF-8.") from error
