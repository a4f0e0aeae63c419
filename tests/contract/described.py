"""Validator of answers against the OpenAPI document: which operation a request was for, and what its answer must be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from tests.serving import Json

_PREFIX = "/api/v1"


class Described:
    """What the document says about each answer."""

    def __init__(self, document: Json) -> None:
        self.document = document
        resource = DRAFT202012.create_resource(document)
        self._registry: Registry[Any] = Registry().with_resource("urn:api", resource).crawl()
        self._validators: dict[int, Draft202012Validator] = {}

    def operations(self) -> Iterator[tuple[str, str, Json]]:
        """Yield each operation with its name, ``get /api/v1/tables``, and its method."""
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                yield f"{method} {path}", method, operation

    def validator(self, schema: Json) -> Draft202012Validator:
        """Return what checks values by a schema of the document, which lasts as long as this."""
        if id(schema) not in self._validators:
            self._validators[id(schema)] = Draft202012Validator(_anchor_references(schema), registry=self._registry)
        return self._validators[id(schema)]

    def problem(self, answer: httpx.Response) -> str | None:
        """Return what the document does not say about an answer, if anything."""
        path, method = answer.request.url.raw_path.decode().partition("?")[0], answer.request.method.lower()
        template = self._template(path, method)
        if template is None:
            return f"{method} {path} is not in the document"
        response = self.document["paths"][template][method]["responses"].get(str(answer.status_code))
        if response is None:
            return f"{method} {template}: {answer.status_code} is not in the document: {answer.text[:200]}"
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        content = response.get("content", {})
        media = answer.headers.get("content-type", "").partition(";")[0]
        if not content and not answer.content:
            return None
        if media not in content:
            return f"{method} {template}: {media} is none of {list(content)}"
        if media != "application/json":
            return None
        error = best_match(self.validator(content[media]["schema"]).iter_errors(answer.json()))
        return None if error is None else f"{method} {template}: {list(error.absolute_path)}: {error.message[:300]}"

    def _template(self, path: str, method: str) -> str | None:
        """Return the path of the document that a request's path means: the one with the most literal steps."""
        candidates = [
            (-len(re.findall(r"\{", template)), template)
            for template, pattern in self._patterns
            if method in self.document["paths"][template] and pattern.fullmatch(path)
        ]
        return max(candidates)[1] if candidates else None

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        return [
            (template, re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))))
            for template in self.document["paths"]
        ]


def _anchor_references(schema: Json) -> Json:
    """Return a schema whose references lead into the document."""
    if isinstance(schema, dict):
        return {
            key: f"urn:api{value}" if key == "$ref" and value.startswith("#") else _anchor_references(value)
            for key, value in schema.items()
        }
    return [_anchor_references(one) for one in schema] if isinstance(schema, list) else schema
