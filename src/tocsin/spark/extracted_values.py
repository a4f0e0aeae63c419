"""Columns of the values at extracted paths: the document is read once, and only the keys that paths begin at are kept.

``from_json`` reads over all other keys. What it finds at a key is a VARIANT, so that values keep their kinds, and the
steps from there are casts to lists of objects. Keys are parts of schemas, which are values and not texts that Spark
parses (``docs/decisions/0131-documents-are-read-once.md``). Next: ``spark/match.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType, VariantType

from tocsin.conditions.nodes import Kind, PathRoot, PathValue
from tocsin.flow.match.extracted_paths import TakenPaths
from tocsin.flow.match.required_words import BETWEEN_WORDS, words_of
from tocsin.spark.conditions import CHANGE_LISTS, as_kind, changed_values, elements_of

_KEYS = "document_keys"
_VARIANTS = ArrayType(VariantType())
_CHANGE = StructType(
    [
        StructField("name", StringType()),
        StructField(PathRoot.OLD, VariantType()),
        StructField(PathRoot.NEW, VariantType()),
    ]
)
_CHANGES = ArrayType(_CHANGE)


def with_extracted_values(events: DataFrame, paths: TakenPaths) -> DataFrame:
    """Return ``events`` with the texts and numbers at the extracted paths, if any, as arrays without nulls.

    One row per event; needs the column ``event``. If many alerts search texts, their words are added. No shuffle.
    """
    if not paths.names:
        return events
    keys = _DocumentKeys.of([path for path, _ in paths.names])
    values = [_values_of_kind(keys.values(path), kind).alias(name) for (path, kind), name in paths.names.items()]
    words = [_words_in(name).alias(words_of(name)) for name in sorted(paths.word_fields)]
    events_with_keys = events.select("*", keys.parse(F.col("event")).alias(_KEYS))
    return events_with_keys.select("*", *values).drop(_KEYS).select("*", *words)


@dataclass(frozen=True)
class _DocumentKeys:
    """What is kept of a document: the values under these keys of the entity, and its changes if they are asked for."""

    keys: Collection[str]
    reads_changes: bool

    @classmethod
    def of(cls, paths: Collection[PathValue]) -> _DocumentKeys:
        """Return what ``paths`` begin at."""
        keys = dict.fromkeys(str(path.steps[0]) for path in paths if path.root is PathRoot.ENTITY)
        return cls(list(keys), any(path.root is not PathRoot.ENTITY for path in paths))

    def parse(self, document: Column) -> Column:
        """Return the JSON ``document`` as a struct of what is kept."""
        entity = StructType([StructField(name, VariantType()) for name in self.keys])
        changes = StructType([StructField(name, _CHANGES) for name in CHANGE_LISTS])
        kept_keys: dict[str, DataType] = {"entity": entity} if self.keys else {}
        kept_keys |= {"changeDescription": changes} if self.reads_changes else {}
        return F.from_json(document, StructType([StructField(name, kind) for name, kind in kept_keys.items()]))

    def values(self, path: PathValue) -> Column:
        """Return the values at ``path``, as an array of variants."""
        if path.root is PathRoot.ENTITY:
            key, *steps = path.steps
            values = F.array(F.col(_KEYS)["entity"][key])
        else:
            steps = list(path.steps)
            lists = [F.col(_KEYS)["changeDescription"][name] for name in CHANGE_LISTS]
            changes = F.concat(*(F.coalesce(changes, F.array().cast(_CHANGES)) for changes in lists))
            values = changed_values(changes, F.lit(path.change or ""), path.root)
        for step in steps:
            values = _step(values, step)
        return F.flatten(F.transform(values, elements_of))


def _step(values: Column, step: str | int) -> Column:
    """Return the values a step further: a position is one in a list, a key goes into every member of a list."""
    if isinstance(step, int):
        return F.transform(values, lambda value: F.get(value.try_cast(_VARIANTS), F.lit(step)))
    object_type = StructType([StructField(step, VariantType())])

    def inside(value: Column) -> Column:
        members = F.coalesce(value.try_cast(ArrayType(object_type)), F.array(value.try_cast(object_type)))
        return F.transform(members, lambda member: member[step])

    return F.flatten(F.transform(values, inside))


def _values_of_kind(values: Column, kind: Kind) -> Column:
    """Return those of ``values`` that are texts, or numbers; two zeros are alike only after an addition."""
    typed = F.array_compact(F.transform(values, lambda value: as_kind(value, kind)))
    return F.transform(typed, lambda number: number + F.lit(0.0)) if kind is Kind.NUMBER else typed


def _words_in(texts: str) -> Column:
    return F.flatten(F.transform(texts, lambda text: F.split(text, BETWEEN_WORDS)))
