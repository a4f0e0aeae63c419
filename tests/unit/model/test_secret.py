"""Tests of the names of texts in connections, against OpenMetadata's schemas."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tocsin.model.secret import PASSWORDS, TEXTS

_BESIDE = Path(__file__).resolve().parents[4] / "shared/standards/schemas"
ROOT = Path(os.environ.get("TOCSIN_TEST_STANDARDS", _BESIDE)).resolve()
KINDS = ("database", "dashboard", "messaging", "pipeline", "mlmodel", "storage", "api", "search", "metadata")
STARTS = (
    *((f"entity/services/{kind}Service.json", "connection") for kind in KINDS),
    ("entity/services/ingestionPipelines/ingestionPipeline.json", "sourceConfig"),
    ("entity/services/ingestionPipelines/ingestionPipeline.json", "openMetadataServerConnection"),
    ("tests/testSuite.json", "connection"),
)
Schema = Any  # Any: a JSON schema or a part of one


@pytest.mark.skipif(not ROOT.is_dir(), reason="the published schemas are not here; set TOCSIN_TEST_STANDARDS")
def test_the_names_are_those_of_the_schemas() -> None:
    names_by_list: dict[str, set[str]] = defaultdict(set)
    visited: set[tuple[Path, str, str]] = set()
    for file, key in STARTS:
        _walk((ROOT / file, _read(ROOT / file)["properties"][key], key), names_by_list, visited)
    assert names_by_list["passwords"] == PASSWORDS
    assert names_by_list["texts"] - names_by_list["passwords"] == TEXTS


def test_no_text_is_both() -> None:
    assert not PASSWORDS & TEXTS


def _walk(
    at: tuple[Path, Schema, str], names_by_list: dict[str, set[str]], visited: set[tuple[Path, str, str]]
) -> None:
    file, node, name = at
    if isinstance(node, list):
        for subschema in node:
            _walk((file, subschema, name), names_by_list, visited)
    if not isinstance(node, dict):
        return
    if "$ref" in node:
        elsewhere, _, pointer = node["$ref"].partition("#")
        target = (file.parent / elsewhere).resolve() if elsewhere else file
        if (target, pointer, name) not in visited:
            visited.add((target, pointer, name))
            _walk((target, _schema_at(target, pointer), name), names_by_list, visited)
    if node.get("format") == "password":
        names_by_list["passwords"].add(name)
    elif node.get("type") == "string" or "enum" in node:
        names_by_list["texts"].add(name)
    for key, inner in (node.get("properties") or {}).items():
        _walk((file, inner, key), names_by_list, visited)
    for key in ("oneOf", "anyOf", "allOf", "items", "additionalProperties"):
        _walk((file, node.get(key), name), names_by_list, visited)


@cache
def _read(file: Path) -> Schema:
    return json.loads(file.read_text())


def _schema_at(file: Path, pointer: str) -> Schema:
    schema = _read(file)
    for step in filter(None, pointer.split("/")):
        schema = schema[step]
    return schema
