"""Compiler of the published schemas to ``model/shapes.json``; run as ``python -m tests.contract.digest``.

A shape is one of ``any text integer number boolean object``, or an object with one of: ``use`` (a shape by its name),
``enum`` (the words there are), ``text`` (with a pattern, lengths or a format), ``list`` and ``map`` (of a shape),
``either`` (one of these), ``fields`` (by key; ``required`` ones; ``open`` when others are welcome).
What configures connections and workflows is left open: upstream has hundreds of forms of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.contract.standards import ROOT, SCHEMAS
from tests.serving import Json

SHAPES = Path(__file__).resolve().parents[2] / "src/tocsin/model/shapes.json"

_OPEN = re.compile(
    r"services/connections|metadataIngestion|automations|ingestionRunner|security/|applications/|configuration/"
)
_PLAIN = frozenset({"integer", "number", "boolean"})
_OF_TEXTS = ("minLength", "maxLength", "pattern", "format")


class Digest:
    """Reads schemas; ``named`` collects the shapes that are used more than once."""

    def __init__(self) -> None:
        self.named: dict[str, Json] = {}
        self._names: dict[tuple[str, str], str] = {}

    def fields(self, schema: str) -> Json:
        """Return the shape of every key of a type."""
        path = ROOT / schema
        properties = json.loads(path.read_text())["properties"]
        return {key: self._shape(path, node) for key, node in properties.items()}

    def _shape(self, base: Path, node: Json) -> Json:
        if "$ref" in node:
            return self._reference(base, node["$ref"])
        if "enum" in node:
            return {"enum": node["enum"]}
        if forms := node.get("oneOf") or node.get("anyOf"):
            shapes = [self._shape(base, form) for form in forms]
            return "any" if {"any", "object"}.intersection(map(str, shapes)) else {"either": shapes}
        match node.get("type"):
            case "string":
                limits = {key: node[key] for key in _OF_TEXTS if key in node}
                return {"text": limits} if limits else "text"
            case str(plain) if plain in _PLAIN:
                return plain
            case "array":
                return {"list": self._shape(base, node.get("items", {}))}
            case "object":
                return self._object(base, node)
        return self._object(base, node) if "properties" in node else "any"

    def _object(self, base: Path, node: Json) -> Json:
        additional = node.get("additionalProperties", True)
        if not node.get("properties"):
            return {"map": self._shape(base, additional)} if isinstance(additional, dict) else "object"
        description = {"fields": {key: self._shape(base, inner) for key, inner in node["properties"].items()}}
        required = {"required": node["required"]} if node.get("required") else {}
        return description | required | ({} if additional is False else {"open": True})

    def _reference(self, base: Path, reference: str) -> Json:
        file, _, inside = reference.partition("#")
        path = (base.parent / file).resolve() if file else base
        place, node = str(path.relative_to(ROOT)), json.loads(path.read_text())
        for step in filter(None, inside.split("/")):
            node = node[step]
        if _OPEN.search(place):
            return "object" if node.get("type", "object") == "object" else "any"
        name = self._names.get((place, inside))
        if name is None:
            name = self._names[place, inside] = self._free_name(place, inside)
            self.named[name] = None
            self.named[name] = self._shape(path, node)
        shape = self.named[name]
        return shape if isinstance(shape, str) else {"use": name}

    def _free_name(self, place: str, inside: str) -> str:
        short = inside.rpartition("/")[2] or Path(place).stem
        return short if short not in self.named else f"{place.removesuffix('.json')}#{short}"


def digest() -> str:
    """Return the file's contents: one line for each shape and each type."""
    reads = Digest()
    types = {name: reads.fields(schema) for name, schema in SCHEMAS.items()}
    required = {name: json.loads((ROOT / schema).read_text()).get("required", []) for name, schema in SCHEMAS.items()}
    types["type"]["name"] = {"text": {"pattern": r"^[\w-]+$"}}  # upstream's own types have hyphens: date-cp
    types["testCase"]["testSuites"] = {
        "list": {"use": "entityReference"}
    }  # so kept; server/entities/response.py shows suites
    reads.named["statusType"]["enum"].append("PartialSuccess")  # of a pipeline's run, as the seeds have it
    reads.named["trigger"]["fields"]["timezone"] = "text"  # ours: whose clocks a schedule follows
    reads.named["trigger"]["fields"]["groupBy"] = {"enum": ["alert", "asset", "lineageRoot", "none"]}
    reads.named["trigger"]["fields"]["sendResolved"] = "boolean"
    shapes = {name: shape for name, shape in reads.named.items() if not isinstance(shape, str)}
    return "\n".join(
        ["{", _section("required", required) + ",", _section("types", types) + ",", _section("shapes", shapes), "}", ""]
    )


def _section(title: str, members: dict[str, Json]) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(members[name], sort_keys=True)}" for name in sorted(members))
    return f'"{title}": {{\n' + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    SHAPES.write_text(digest())
