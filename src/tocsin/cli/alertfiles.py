"""Parser of alert files, YAML, JSON or TOML, one alert or several; and what of an alert belongs into one.

Next: ``cli/alerts.py``.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tocsin.cli.yaml_documents import FilePlace, YamlDocument, placed_json, read_yaml
from tocsin.clock import to_datetime
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import nearest
from tocsin.model.subscription import without_defaults

_FORMS = {".yaml": "YAML", ".yml": "YAML", ".json": "JSON", ".toml": "TOML"}
SUFFIXES = tuple(_FORMS)
"""How files of alerts end."""

_LIST_KEY = "alerts"
_WRITTEN_BY_THE_SERVER = frozenset(
    "id fullyQualifiedName href version updatedAt updatedBy changeDescription incrementalChangeDescription "
    "provider".split()
)
_OF_A_LABEL = ("tagFQN", "source", "labelType", "state")
_KEYS = (
    "name|displayName|description|alertType|enabled|owners|domains|tags|extension|"
    "trigger|resources|input|filteringRules|destinations|alerts"
)
_COMMENTS = r"(?:\s|#[^\n]*\n)*"
_JSON = re.compile(r'\s*(?:\{\s*(?:"[^"]*"\s*:|\})|\[\s*[\]{])')
_TOML = re.compile(rf"{_COMMENTS}(?:\[\[\s*[A-Za-z]|\[\s*(?:{_KEYS})\b|(?:{_KEYS})(?:\.\w+)*\s*=(?!=))")
_YAML = re.compile(rf"{_COMMENTS}(?:---\s)?{_COMMENTS}(?:-\s+)?(?:{_KEYS})\s*:(?:\s|$)")
"""How alerts begin, and conditions do not."""

_VARIABLE = re.compile(r"\$\$(?=\{)|\$\{([^}]*)\}?")
_NAME_OF_A_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PREFIX_OF_VARIABLES = "TOCSIN_ALERT_"
"""How the environment variables begin that every alert file may use."""


Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--env", metavar="NAME", help=f"An environment variable that files may use, besides {PREFIX_OF_VARIABLES}*."
    ),
]


@dataclass(frozen=True)
class FiledAlert:
    """An alert and where it is written: what the file is called, the path in it, and the file with its places."""

    document: Document
    file: str
    path: str = ""
    read_document: Callable[[], YamlDocument | None] = lambda: None

    @property
    def name(self) -> str:
        """The name of the alert."""
        return str(self.document["name"])

    @property
    def where(self) -> str:
        """File and line, as errors and plans print it."""
        yaml_document = self.read_document()
        return self.file if yaml_document is None else f"{self.file}:{yaml_document.place(self.path).line}"

    def place_of(self, field: str) -> FilePlace | None:
        """Return the place of a field in the file; None if places are not known."""
        yaml_document = self.read_document()
        return yaml_document.place(f"{self.path}.{field}") if yaml_document else None


def holds_alerts(text: str, source: str) -> bool:
    """Return whether ``text`` is alerts, not conditions: by the file's name, or on standard input by how it begins."""
    return source.endswith(SUFFIXES) or (source == "-" and any(form.match(text) for form in (_JSON, _TOML, _YAML)))


def read_alerts(paths: Sequence[str], allowed_names: Collection[str] = ()) -> list[FiledAlert]:
    """Return the alerts of files, of folders with all below them, and of standard input (``-``).

    ``allowed_names`` are further variables that they may use (``parse_alerts``).

    Raises
    ------
    NotFound : there is no such file or folder
    InvalidInput : what ``parse_alerts`` refuses of each file, no file in a folder, or two alerts of one name
    """
    alerts_by_name: dict[str, FiledAlert] = {}
    errors: list[InvalidInput] = []
    for file in [file for path in paths for file in _files(path)]:
        try:
            alerts = parse_alerts(text_of(file), file, allowed_names)
        except InvalidInput as error:
            errors.append(error)
            continue
        for alert in alerts:
            first = alerts_by_name.setdefault(alert.name, alert)
            if first is not alert:
                errors.append(InvalidInput(f"{alert.where}: alert {alert.name} is in {first.where}, too."))
    if errors:
        raise _error_of_all(errors)
    return [*alerts_by_name.values()]


def parse_alerts(text: str, source: str, allowed_names: Collection[str] = ()) -> list[FiledAlert]:
    """Return the alerts that ``text`` holds; ``source`` names it, and its suffix says what it is.

    ``${NAME}`` in a destination is the environment variable of that name, if it begins with ``PREFIX_OF_VARIABLES`` or
    is ``allowed_names``: who may change a file must not be able to send other secrets of the environment anywhere.

    Raises
    ------
    InvalidInput : not YAML, JSON or TOML, or something in it is not an alert with a name, or a variable is not set or
        not allowed
    """
    alerts = [alert for parsed in _parse(text, source) for alert in _alerts_in(*parsed, file_label(source))]
    if not alerts:
        raise InvalidInput(f"{file_label(source)} contains no alerts.")
    errors: list[InvalidInput] = []
    filled_alerts: list[FiledAlert] = []
    for number, alert in enumerate(alerts, start=1):
        if not isinstance(alert.document, dict) or not isinstance(alert.document.get("name"), str):
            errors.append(InvalidInput(f"{alert.where}: alert {number} has no name.", field="name"))
        else:
            filled_alerts.append(_with_variables(alert, allowed_names, errors))
    if errors:
        raise _error_of_all(errors)
    return filled_alerts


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


_DAY_MS = 86_400_000
FILED_FIELDS = ("*", "severity", "runbook", "expires", "toMeOnly", "search", "destinations")
"""The fields of an alert that belong into a file."""


def exported_alert(alert: Document) -> Document:
    """Return what of an alert belongs into a file: without defaults, what the server writes, is inherited or derived.

    Owners, domains and the template are named, not identified, so that the file fits another server. Secrets are masks:
    where the alert exists, they stay what they are.
    """
    fields = {key: value for key, value in alert.items() if key not in _WRITTEN_BY_THE_SERVER}
    for key in {"owners", "domains"} & fields.keys():
        fields[key] = [_named_reference(one) for one in fields[key] if not one.get("inherited")]
    if "notificationTemplate" in fields:
        fields["notificationTemplate"] = _named_reference(fields["notificationTemplate"])
    if "tags" in fields:
        own_labels = (label for label in fields["tags"] if label.get("labelType") != "Derived")
        fields["tags"] = [{key: label[key] for key in _OF_A_LABEL if key in label} for label in own_labels]
    if "destinations" in fields:
        settings = [{key: one[key] for key in one if key != "statusDetails"} for one in fields["destinations"]]
        fields["destinations"] = [without_defaults(one) for one in settings]
    if type(expires_ms := fields.get("expires")) is int:
        fields["expires"] = _moment_text(expires_ms)
    return {key: value for key, value in fields.items() if value not in ([], {})}


def with_escapes(alert: Document) -> Document:
    """Return an alert for a file, so that nothing in its destinations reads as a variable."""
    escaped = _map_texts(alert.get("destinations"), "", lambda text, _place: text.replace("${", "$${"))
    return alert if escaped is None else alert | {"destinations": escaped}


def file_label(source: str) -> str:
    """Return what a file is called: ``-`` is standard input."""
    return "standard input" if source == "-" else source


def _moment_text(at_ms: int) -> str:
    """Return a moment as a file says it, in UTC: ``2026-12-31``, ``2026-12-31T17:00:00Z``."""
    if at_ms % _DAY_MS == 0:
        return to_datetime(at_ms).date().isoformat()
    precision = "milliseconds" if at_ms % 1_000 else "seconds"
    return to_datetime(at_ms).isoformat(timespec=precision).replace("+00:00", "Z")


def _named_reference(reference: Document) -> Document:
    name = "fullyQualifiedName" if reference["type"] == "domain" else "name"
    return {"type": reference["type"], name: reference[name]}


def _files(path: str) -> list[str]:
    """Return the file, or the files of alerts in a folder and below it, but for hidden ones."""
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return [path]
    below = (one for one in folder.rglob("*") if one.suffix in SUFFIXES and one.is_file())
    files = sorted(str(one) for one in below if not any(part[0] == "." for part in one.relative_to(folder).parts))
    if not files:
        raise InvalidInput(f"folder {path} contains no files of alerts ({', '.join(SUFFIXES)}).")
    return files


_Parsed = tuple[Any, Callable[[], YamlDocument | None]]  # Any: what a file may hold; parse_alerts checks it


def _parse(text: str, source: str) -> list[_Parsed]:
    """Return the documents of a file, each with what finds places in it; only YAML has several."""
    form = _form(text, source)
    try:
        documents = _yaml(text) if form == "YAML" else [_toml(text) if form == "TOML" else _json(text)]
        json.dumps([value for value, _ in documents], ensure_ascii=False).encode()
    except InvalidInput as error:
        place, _, problem = error.message.partition(": ")
        line = int(place.partition(":")[0])
        raise InvalidInput(f"{file_label(source)}:{place}: {problem}.{_hint_of_quotes(text, line, form)}") from error
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        line_match = re.search(r"line (\d+)", str(error))
        hint = _hint_of_quotes(text, int(line_match[1]), form) if line_match else ""
        raise InvalidInput(f"{file_label(source)} is not valid {form}: {error}.{hint}") from error
    except RecursionError as error:
        raise InvalidInput(f"{file_label(source)} is nested too deeply.") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise InvalidInput(f"{file_label(source)} contains {half!a}, an incomplete character.") from error
    return documents


def _form(text: str, source: str) -> str:
    """Return YAML, JSON or TOML: by the suffix, on standard input by how it begins."""
    if source != "-":
        form = _FORMS.get(Path(source).suffix)
        if form is None:
            raise InvalidInput(f"{source} is no file of alerts: their names end in {', '.join(SUFFIXES)}.")
        return form
    if _TOML.match(text) is not None:
        return "TOML"
    return "JSON" if text.lstrip()[:1] in ("{", "[") else "YAML" if _YAML.match(text) else "TOML"


def _yaml(text: str) -> list[_Parsed]:
    return [(document.value, partial(lambda document: document, document)) for document in read_yaml(text)]


def _json(text: str) -> _Parsed:
    value = json.loads(text)
    return value, cache(partial(placed_json, text, value))


def _toml(text: str) -> _Parsed:
    # A TOML file may hold dates, of which an alert has none: to the server they are texts.
    return json.loads(json.dumps(tomllib.loads(text), default=str)), lambda: None


def _hint_of_quotes(text: str, number: int, form: str) -> str:
    """Return a hint where the quotes of a condition end the string that contains it; empty for all else."""
    line = dict(enumerate(text.splitlines(), start=1)).get(number, "")
    if re.search(r"""\bcondition"?\s*[=:]\s*(["']).*\1.*\1""", line):
        return " Within double quotes, write the quotes of a condition as '."
    is_bare = form == "YAML" and re.search(r"\bcondition\s*:\s*[^\s\"|>]", line)
    return " Put the condition between double quotes, and write the quotes in it as '." if is_bare else ""


def _alerts_in(
    parsed: Any, read_document: Callable[[], YamlDocument | None], source: str
) -> Iterator[FiledAlert]:  # Any: as above
    """Yield the alerts of the list, of the list under ``alerts``, or the one alert that the document is."""
    path = ""
    if isinstance(parsed, dict) and parsed:
        written = next((key for key in parsed if nearest(key, (_LIST_KEY,))), None)
        if _LIST_KEY not in parsed and "name" not in parsed and written is not None:
            raise InvalidInput(f"{source} contains no alerts: unknown key {written}; did you mean {_LIST_KEY}?")
        path, parsed = (_LIST_KEY, parsed[_LIST_KEY]) if _LIST_KEY in parsed else ("", parsed)
    if isinstance(parsed, list):
        yield from (FiledAlert(one, source, f"{path}[{index}]", read_document) for index, one in enumerate(parsed))
    elif isinstance(parsed, dict) and parsed and not path:
        yield FiledAlert(parsed, source, "", read_document)
    elif parsed:
        raise InvalidInput(f"{source} contains no alerts.")


def _with_variables(alert: FiledAlert, allowed_names: Collection[str], errors: list[InvalidInput]) -> FiledAlert:
    """Return the alert with the values of the variables in its destinations; what is wrong is added to ``errors``."""

    def fill(text: str, field: str) -> str:
        def value(variable: re.Match[str]) -> str:
            return "$" if variable[1] is None else _variable(variable[1], variable[0].endswith("}"), allowed_names)

        try:
            return _VARIABLE.sub(value, text)
        except InvalidInput as error:
            place = alert.place_of(field)
            where = f"{alert.file}:{place.line}:{place.column}" if place else alert.file
            errors.append(InvalidInput(f"{where}: {alert.name}: {field}: {error.message}", field=field))
            return text

    destinations = _map_texts(alert.document.get("destinations"), "destinations", fill)
    document = alert.document if destinations is None else alert.document | {"destinations": destinations}
    return FiledAlert(document, alert.file, alert.path, alert.read_document)


def _variable(name: str, is_closed: bool, allowed_names: Collection[str]) -> str:
    if not is_closed or not _NAME_OF_A_VARIABLE.fullmatch(name):
        raise InvalidInput("after ${ the name of an environment variable and } must follow; $${ is a literal ${")
    if not (name.startswith(PREFIX_OF_VARIABLES) or name in allowed_names):
        prefixed_name = PREFIX_OF_VARIABLES + name.removeprefix("TOCSIN_")
        raise InvalidInput(
            f"alert files may not use environment variable {name}; call it {prefixed_name}, or add --env {name}"
        )
    if not os.environ.get(name):
        raise InvalidInput(f"environment variable {name} is not set")
    return os.environ[name]


def _error_of_all(errors: Sequence[InvalidInput]) -> InvalidInput:
    """Return one error that says what all say, a line each."""
    lines = [line for error in errors for line in (error.message, *getattr(error, "__notes__", ()))]
    error_of_all = InvalidInput(lines[0], field=errors[0].field)
    if lines[1:]:
        error_of_all.add_note("\n".join(lines[1:]))
    return error_of_all


def _map_texts(value: Any, place: str, change: Callable[[str, str], str]) -> Any:  # Any: a JSON value
    """Return a JSON value with every text in it changed; ``change`` gets the text and its place."""
    if isinstance(value, dict):
        return {key: _map_texts(one, f"{place}.{key}", change) for key, one in value.items()}
    if isinstance(value, list):
        return [_map_texts(one, f"{place}[{index}]", change) for index, one in enumerate(value)]
    return change(value, place) if isinstance(value, str) else value


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidInput("Standard input cannot be read: it is not UTF-8.") from error
