"""Files that dbt writes into its target folder: ``manifest.json``, and beside it catalogue, run results and freshness.

Keys without a use here are left aside, since each version of dbt adds some; a part that is malformed is left out, with
its place. Source: dbt's JSON schemas, manifest up to version 12. Next: ``sources/dbt/requests.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from tocsin.errors import InvalidInput

FILES = ("manifest.json", "catalog.json", "run_results.json", "sources.json")
"""The files of a target folder that are read, the first of which must be there."""

LARGEST_BYTES = 512 * 2**20
"""Bytes of one file."""

OLDEST_MANIFEST, NEWEST_MANIFEST = 4, 12
"""Versions of the manifest that are known: older ones are refused, newer ones read with a remark."""

_VERSION = re.compile(r"/(?P<name>[a-z-]+)/v(?P<number>\d+)")
_WITHOUT_RUN = frozenset({"generate", "compile", "list", "parse", "show"})
"""Commands after which the results say that something was compiled; ``dbt docs generate`` calls itself ``generate``."""

_LONGEST_TEXT = 1_000_000
_TABLES = frozenset({"model", "seed", "snapshot", "source"})

_Text = Annotated[str, Field(max_length=_LONGEST_TEXT)]
Remark = Callable[[str], None]


class _ArtifactPart(BaseModel):
    """Base of all parts of a file: other keys than its own are left aside."""

    model_config = ConfigDict(extra="ignore", frozen=True)


PartForm = TypeVar("PartForm", bound=_ArtifactPart)


class NodeDependencies(_ArtifactPart):
    """What a node is made from, by unique ids."""

    nodes: tuple[str, ...] = ()


class ProjectOwner(_ArtifactPart):
    """Who owns a group or an exposure: a name, an address, or both."""

    name: _Text | None = None
    email: _Text | list[str] | None = None

    def names(self) -> list[str]:
        """Return what may find the owner here: addresses first."""
        emails = self.email if isinstance(self.email, list) else [self.email]
        return [name for name in (*emails, self.name) if name]


class ColumnPart(_ArtifactPart):
    """A column as the project describes it."""

    name: _Text
    description: _Text | None = None
    data_type: _Text | None = None
    tags: tuple[str, ...] = ()


class ColumnContract(_ArtifactPart):
    """Whether dbt builds a model only if it has the columns that its description lists, and no others."""

    enforced: bool = False


class NodeConfig(_ArtifactPart):
    """What a node is configured with."""

    materialized: str | None = None
    severity: str | None = None
    enabled: bool = True
    contract: ColumnContract = ColumnContract()


class TestMetadata(_ArtifactPart):
    """Which generic test a test is, and with what."""

    name: str
    arguments: Annotated[dict[str, Any], Field(alias="kwargs", default_factory=dict)]


class FreshnessLimit(_ArtifactPart):
    """How old the newest row of a source may be; no limit without a count."""

    count: int | None = None


class FreshnessCriteria(_ArtifactPart):
    """From when on a source is too old."""

    warn_after: FreshnessLimit | None = None
    error_after: FreshnessLimit | None = None


class Node(_ArtifactPart):
    """A model, seed, snapshot, source or test."""

    unique_id: str
    resource_type: str
    name: _Text
    database: str | None = None
    schema_name: Annotated[str | None, Field(alias="schema")] = None
    alias: str | None = None
    identifier: str | None = None
    description: _Text | None = None
    columns: dict[str, ColumnPart] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = Field(default_factory=dict)
    group: str | None = None
    config: NodeConfig = NodeConfig()
    depends_on: NodeDependencies = NodeDependencies()
    original_file_path: str | None = None
    raw_code: _Text | None = None
    compiled_code: _Text | None = None
    test_metadata: TestMetadata | None = None
    column_name: str | None = None
    attached_node: str | None = None
    freshness: FreshnessCriteria | None = None

    @property
    def has_freshness(self) -> bool:
        """Whether it is a source that the project asks to be fresh."""
        limits = (self.freshness.warn_after, self.freshness.error_after) if self.freshness else ()
        return self.resource_type == "source" and any(limit and limit.count for limit in limits)

    @property
    def is_table(self) -> bool:
        """Whether it is a relation of the database: ephemeral models are not."""
        return self.resource_type in _TABLES and self.config.materialized != "ephemeral"

    @property
    def table_name(self) -> str:
        """The name of its relation."""
        return self.identifier or self.alias or self.name


class Exposure(_ArtifactPart):
    """What reads models outside of dbt: a dashboard, a notebook, an application."""

    unique_id: str
    name: _Text
    type: str = ""
    label: _Text | None = None
    url: str | None = None
    description: _Text | None = None
    owner: ProjectOwner = ProjectOwner()
    tags: tuple[str, ...] = ()
    depends_on: NodeDependencies = NodeDependencies()


class Metric(_ArtifactPart):
    """A metric of the semantic layer."""

    unique_id: str
    name: _Text
    label: _Text | None = None
    description: _Text | None = None
    tags: tuple[str, ...] = ()
    depends_on: NodeDependencies = NodeDependencies()


class _OwnerGroup(_ArtifactPart):
    name: str
    owner: ProjectOwner = ProjectOwner()


class _SemanticModel(_ArtifactPart):
    depends_on: NodeDependencies = NodeDependencies()


class CatalogColumn(_ArtifactPart):
    """A column as the database has it."""

    name: _Text
    type: _Text
    index: int = 0
    comment: _Text | None = None


class _CatalogTable(_ArtifactPart):
    columns: dict[str, CatalogColumn] = Field(default_factory=dict)


class _Timing(_ArtifactPart):
    completed_at: AwareDatetime | None = None


class NodeResult(_ArtifactPart):
    """What became of one node in a run."""

    unique_id: str
    status: str
    message: _Text | None = None
    failures: int | None = None
    execution_time: float = 0.0
    timing: tuple[_Timing, ...] = ()


class FreshnessResult(_ArtifactPart):
    """How old the newest row of a source was."""

    unique_id: str
    status: str
    max_loaded_at: AwareDatetime | None = None
    snapshotted_at: AwareDatetime | None = None
    max_loaded_at_time_ago_in_s: float | None = None
    error: _Text | None = None


@dataclass
class Artifacts:
    """What the files of one target folder say, by unique id.

    ``types`` are columns as the database has them, by table; ``run_at_ms`` is when the run ended, None without one.
    """

    project: str
    adapter: str
    nodes: dict[str, Node] = field(default_factory=dict)
    exposures: dict[str, Exposure] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    owners_of_groups: dict[str, ProjectOwner] = field(default_factory=dict)
    semantic_models: dict[str, NodeDependencies] = field(default_factory=dict)
    types: dict[str, list[CatalogColumn]] = field(default_factory=dict)
    results: list[NodeResult] = field(default_factory=list)
    run_at_ms: int | None = None
    freshness: list[FreshnessResult] = field(default_factory=list)

    def tables(self) -> Iterator[Node]:
        """Yield the nodes that are relations of the database, in the order of their ids."""
        return (self.nodes[key] for key in sorted(self.nodes) if self.nodes[key].is_table)

    def tests(self) -> Iterator[Node]:
        """Yield the tests, in the order of their ids."""
        return (self.nodes[key] for key in sorted(self.nodes) if self.nodes[key].resource_type == "test")

    def tag_lists(self) -> Iterator[tuple[str, ...]]:
        """Yield the tags of each table, column, test, exposure and metric."""
        for node in self.nodes.values():
            yield from (node.tags, *(column.tags for column in node.columns.values()))
        yield from (exposure.tags for exposure in self.exposures.values())
        yield from (metric.tags for metric in self.metrics.values())

    def tables_behind(self, dependencies: NodeDependencies) -> list[str]:
        """Return the ids of the tables that something is made from, through what is no table itself."""
        waiting, visited_ids, table_ids = list(reversed(dependencies.nodes)), set[str](), list[str]()
        while waiting:
            unique_id = waiting.pop()
            if unique_id in visited_ids:
                continue
            visited_ids.add(unique_id)
            node = self.nodes.get(unique_id)
            if node is not None and node.is_table:
                table_ids.append(unique_id)
            else:
                further = node.depends_on if node is not None else self._dependencies_of(unique_id)
                waiting.extend(reversed(further.nodes))
        return table_ids

    def _dependencies_of(self, unique_id: str) -> NodeDependencies:
        metric = self.metrics.get(unique_id)
        return metric.depends_on if metric else self.semantic_models.get(unique_id, NodeDependencies())


def read_artifacts(folder: Path, remark: Remark, place: str = "", *, with_results: bool = True) -> Artifacts:
    """Read what dbt wrote into a folder, which errors call ``place``; ``remark`` takes the parts that are left out.

    Without results, only what the project is: no runs, and no freshness.

    Raises
    ------
    InvalidInput : there is no ``manifest.json``, or a file is no such file
    """
    files = _TargetFiles(folder, place or str(folder), remark)
    manifest = files.read("manifest.json", "manifest")
    if manifest is None:
        raise InvalidInput(
            f"{files.place} has no manifest.json: name the target folder of a dbt project", field="target"
        )
    metadata = _mapping_at(manifest, "metadata")
    artifacts = Artifacts(str(metadata.get("project_name") or "dbt"), str(metadata.get("adapter_type") or ""))
    parts = _Reader(remark)
    artifacts.nodes = parts.read_all(Node, _mapping_at(manifest, "nodes"), "nodes") | parts.read_all(
        Node, _mapping_at(manifest, "sources"), "sources"
    )
    artifacts.nodes = {key: node for key, node in artifacts.nodes.items() if node.config.enabled}
    artifacts.exposures = parts.read_all(Exposure, _mapping_at(manifest, "exposures"), "exposures")
    artifacts.metrics = parts.read_all(Metric, _mapping_at(manifest, "metrics"), "metrics")
    groups = parts.read_all(_OwnerGroup, _mapping_at(manifest, "groups"), "groups")
    artifacts.owners_of_groups = {group.name: group.owner for group in groups.values()}
    semantic_models = parts.read_all(_SemanticModel, _mapping_at(manifest, "semantic_models"), "semantic_models")
    artifacts.semantic_models = {key: model.depends_on for key, model in semantic_models.items()}
    _read_catalog(artifacts, files.read("catalog.json", "catalog"), parts)
    if with_results:
        _read_results(artifacts, files.read("run_results.json", "run-results"), parts)
        _read_freshness(artifacts, files.read("sources.json", "sources"), parts)
    return artifacts


def _read_catalog(artifacts: Artifacts, catalog: Mapping[str, Any] | None, parts: _Reader) -> None:
    for key in ("nodes", "sources") if catalog is not None else ():
        for unique_id, table in parts.read_all(
            _CatalogTable, _mapping_at(catalog or {}, key), f"catalog {key}"
        ).items():
            artifacts.types[unique_id] = sorted(table.columns.values(), key=lambda column: column.index)


def _read_results(artifacts: Artifacts, run_results: Mapping[str, Any] | None, parts: _Reader) -> None:
    if run_results is None:
        return
    command = _mapping_at(run_results, "args").get("which")
    if command in _WITHOUT_RUN:
        parts.remark(f"run_results.json is of `dbt {command}`, which runs no test: its results were left out")
        return
    artifacts.results = parts.read_list(NodeResult, run_results.get("results"), "run_results results")
    generated = parts.read(_Timing, {"completed_at": _mapping_at(run_results, "metadata").get("generated_at")}, "run")
    moments = [generated, *(timing for result in artifacts.results for timing in result.timing)]
    newest = max((one.completed_at for one in moments if one and one.completed_at), default=None)
    artifacts.run_at_ms = None if newest is None else int(newest.timestamp() * 1000)


def _read_freshness(artifacts: Artifacts, sources: Mapping[str, Any] | None, parts: _Reader) -> None:
    if sources is not None:
        artifacts.freshness = parts.read_list(FreshnessResult, sources.get("results"), "sources results")


@dataclass(frozen=True)
class _Reader:
    """Reads parts one by one; ``remark`` takes those that are malformed, with their places."""

    remark: Remark

    def read_all(self, form: type[PartForm], documents: Mapping[str, Any], place: str) -> dict[str, PartForm]:
        parts = {key: self.read(form, document, f"{place} {key}") for key, document in documents.items()}
        return {key: part for key, part in parts.items() if part is not None}

    def read_list(self, form: type[PartForm], documents: object, place: str) -> list[PartForm]:
        listed = documents if isinstance(documents, list) else []
        parts = (self.read(form, document, f"{place}[{number}]") for number, document in enumerate(listed))
        return [part for part in parts if part is not None]

    def read(self, form: type[PartForm], document: object, place: str) -> PartForm | None:
        try:
            return form.model_validate(document)
        except ValidationError as error:
            first = error.errors()[0]
            within = ".".join(str(step) for step in first["loc"])
            self.remark(f"{place}: {within}: {first['msg']}; it was left out")
            return None


@dataclass(frozen=True)
class _TargetFiles:
    """The files of a target folder, which errors call ``place``."""

    folder: Path
    place: str
    remark: Remark

    def read(self, file_name: str, kind: str) -> Mapping[str, Any] | None:
        """Return the JSON object of a file; None if there is no such file."""
        path, place = self.folder / file_name, f"{self.place.rstrip('/')}/{file_name}"
        if not path.is_file():
            return None
        if (size := path.stat().st_size) > LARGEST_BYTES:
            raise InvalidInput(f"{place} has {size:,} bytes, more than {LARGEST_BYTES:,}", field="target")
        try:
            document = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"{place} is no JSON: {error}", field="target") from None
        metadata = _mapping_at(document, "metadata") if isinstance(document, dict) else {}
        version = _VERSION.search(str(metadata.get("dbt_schema_version") or ""))
        if version is None or version["name"] != kind:
            raise InvalidInput(
                f"{place} is no {file_name} of dbt: it lacks metadata.dbt_schema_version", field="target"
            )
        if kind == "manifest":
            self._check_manifest(place, int(version["number"]))
        return dict(document)

    def _check_manifest(self, place: str, number: int) -> None:
        if number < OLDEST_MANIFEST:
            raise InvalidInput(
                f"{place} has version {number}; the oldest that can be read is {OLDEST_MANIFEST} (dbt 1.0)",
                field="target",
            )
        if number > NEWEST_MANIFEST:
            self.remark(f"{place} has version {number}; known is {NEWEST_MANIFEST}: what is new in it is left aside")


def _mapping_at(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}
