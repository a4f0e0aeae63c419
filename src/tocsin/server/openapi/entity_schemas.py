"""JSON Schemas of entities, and of what requests and answers hold besides, made from the published shapes.

Next: ``model/shapes.py``.
"""

from __future__ import annotations

from functools import cache

from tocsin.catalogue.observations.table_details import CONFIG
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import SERVER_KEPT
from tocsin.model.relations import RELATIONS
from tocsin.model.shapes import Shape, named_shape, required_keys, shape_names, shapes_of
from tocsin.server.http.json_schema import array, closed_object, ref

_WORDS: dict[str, Document] = {
    "any": {},
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
}
_REFERENCE, _LABEL = "entityReference", "tagLabel"
_TYPED = "TypedReference"
_LENIENT = frozenset({_REFERENCE, _LABEL})
"""Shapes that a request may give in brief: a name for a reference, a tag's FQN for a label."""

_ALWAYS = ("id", "name", "fullyQualifiedName", "version", "updatedAt", "updatedBy", "href")
"""Keys that every answer with an entity has."""

_PASSWORD: Document = {
    "password": {"type": "string", "format": "password", "description": "For administrators: the person's password."},
    "confirmPassword": {"type": "string", "format": "password"},
    "createPasswordType": {"type": "string"},
}
_RULES: Document = {
    "resources": array({"type": "string"}) | {"description": "What the alert is about: types of entities, or `all`."}
}
_ONLY_ASKED = {"user": _PASSWORD, "eventsubscription": _RULES}
"""Keys of requests that no entity shows."""

_ATTACHED = frozenset({CONFIG})
"""Keys of data outside the document that a request for the entity may give."""


class EntitySchemas:
    """Schemas of entities, of requests for them, and of everything that they refer to; ``named`` grows as asked."""

    def __init__(self) -> None:
        self.named: dict[str, Document] = {
            "ReferenceRequest": {
                "description": "A reference: a fully qualified name or id, or an object with either.",
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "object", "properties": self._reference_keys()},
                ],
                "examples": ["warehouse.shop"],
            },
            _TYPED: {
                "type": "object",
                "description": "A reference: a type, and an id or a fully qualified name.",
                "required": ["type"],
                "properties": {**self._reference_keys(), "type": {"enum": list(ENTITY_TYPES)}},
            },
            "SuiteReference": closed_object(self._reference_keys()),
        }
        for row in ENTITY_TYPES.values():
            self.named[schema_name(row)] = self._entity(row)
            self.named[f"Create{schema_name(row)}"] = self._request(row)

    def message(self, title: str) -> None:
        """Add what a request or an answer holds, by the title of its shape; with ``Request``, references are typed."""
        published = title in _names()
        self.shape(_names()[title if published else title.removesuffix("Request")], "" if published else _TYPED)

    def shape(self, name: str, reference: str = "") -> Document:
        """Return the schema that stands for a shape in an answer, or in a request whose references are such ones."""
        if reference and name == _REFERENCE:
            return ref(reference)
        definition = named_shape(name)
        if isinstance(definition, dict) and "text" in definition:
            return _text(definition["text"])
        differs = reference and _is_lenient(name)
        title = f"{_title(name)}Request" if differs else _title(name)
        if title not in self.named:
            self.named[title] = {}  # so that a shape that holds itself ends
            self.named[title] = self._schema(definition, reference if differs else "")
            if differs and name == _LABEL:
                self.named[title]["required"] = ["tagFQN"]
        return ref(title)

    def _reference_keys(self) -> Document:
        properties: Document = self._schema(named_shape(_REFERENCE))["properties"]
        return properties

    def _entity(self, kind: EntityType) -> Document:
        shapes, required = shapes_of(kind.name), (*_ALWAYS, *required_keys(kind.name))
        properties = {key: self._schema(shapes[key]) for key in sorted(kind.keys)}
        if "testSuites" in properties:
            properties["testSuites"] = array(ref("SuiteReference"))
        description = f"A {kind.name}. Which keys an answer holds depends on `fields`."
        return closed_object(properties, required=[key for key in required if key in kind.keys]) | {
            "description": description
        }

    def _request(self, kind: EntityType) -> Document:
        shapes = shapes_of(kind.name)
        server_keys = (SERVER_KEPT | kind.separate_keys | RELATIONS.get(kind.name, {}).keys()) - _ATTACHED
        properties = {
            key: self._schema(shapes[key], "ReferenceRequest")
            for key in sorted((kind.keys - server_keys) | set(kind.required))
        }
        properties |= {key: {"description": "Understood, and not stored."} for key in kind.ignored}
        properties |= _ONLY_ASKED.get(kind.name, {})
        description = f"Request for a {kind.name}. A PUT leaves what is not named as it is."
        return closed_object(properties, required=list(kind.required)) | {"description": description}

    def _schema(self, shape: Shape, reference: str = "") -> Document:
        if isinstance(shape, str):
            return dict(_WORDS[shape])
        kind = next(key for key in ("use", "enum", "text", "list", "map", "either", "fields") if key in shape)
        inner = shape[kind]
        match kind:
            case "use":
                return self.shape(inner, reference)
            case "enum":
                return {"enum": inner}
            case "text":
                return _text(inner)
            case "list":
                return array(self._schema(inner, reference))
            case "map":
                return {"type": "object", "additionalProperties": self._schema(inner, reference)}
            case "either":
                return {"anyOf": [self._schema(one, reference) for one in inner]}
        return self._fields(shape, reference)

    def _fields(self, shape: Document, reference: str) -> Document:
        properties = {key: self._schema(inner, reference) for key, inner in shape["fields"].items()}
        schema = closed_object(properties, required=shape.get("required", ()))
        return {**schema, "additionalProperties": True} if shape.get("open") else schema


def schema_name(kind: EntityType) -> str:
    """Return the name of the schema of an entity of this type."""
    return "EventSubscription" if kind.name == "eventsubscription" else _capital(kind.name)


def _title(name: str) -> str:
    """Return the name of the schema of a shape; ``entity/data/pipeline#pipelineStatus`` is PipelinePipelineStatus."""
    place, _, inside = name.rpartition("#")
    title = _capital(place.rpartition("/")[2]) + _capital(inside)
    entity_titles = {schema_name(row) for row in ENTITY_TYPES.values()}
    return f"{title}Shape" if title in entity_titles else title


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _text(limits: Document) -> Document:
    pattern = {"pattern": limits["pattern"].removeprefix("(?U)")} if "pattern" in limits else {}
    return {"type": "string"} | limits | pattern


@cache
def _names() -> dict[str, str]:
    """Return the names of shapes by their titles."""
    return {_title(name): name for name in shape_names()}


@cache
def _is_lenient(name: str) -> bool:
    """Return whether a shape holds, at whatever depth, one that a request may give in brief."""
    waiting, visited = [name], set[str]()
    while waiting:
        shape_name = waiting.pop()
        if shape_name in _LENIENT:
            return True
        visited.add(shape_name)
        waiting += [used for used in _uses(named_shape(shape_name)) if used not in visited]
    return False


def _uses(shape: Shape) -> set[str]:
    """Return the names that a shape uses."""
    if isinstance(shape, list):
        return set().union(*map(_uses, shape))
    if not isinstance(shape, dict):
        return set()
    if "fields" in shape:
        return set().union(*map(_uses, shape["fields"].values()))
    if "use" in shape:
        return {shape["use"]}
    return set().union(*(_uses(shape[key]) for key in ("list", "map", "either") if key in shape))
