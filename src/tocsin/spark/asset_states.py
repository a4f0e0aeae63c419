"""States of assets over DataFrames: which tests and runs fail, since when nothing succeeded, what has no owner.

Native expressions over the catalogue (``spark/catalogue.py``) and the streaks (``spark/streaks.py``). Next:
``jobs/scheduled_checks.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.types import ArrayType, BooleanType, StructField, StructType

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import types_above
from tocsin.model.status import NO_FAILURES
from tocsin.spark.schema import NUMBER, TEXT, struct_of

_OWNED_TYPES = tuple(sorted(name for name, row in ENTITY_TYPES.items() if "owners" in row.keys))
_DOCUMENT = struct_of(
    ("fullyQualifiedName", TEXT), ("deleted", BooleanType()), ("owners", ArrayType(struct_of(("id", TEXT))))
)
_PART_OF_NAME = r'"(?:[^"]|"")*"|[^".]+'

ASSET_STATES = struct_of(
    *(("entity_id", TEXT), ("entity_type", TEXT), ("is_failing", BooleanType()), ("failures", NUMBER)),
    *(("since_ms", NUMBER), ("may_lack_owner", BooleanType())),
)
"""One row per asset of which something is to be said (``catalogue/observations/scheduled_checks.AssetState``)."""

FOUND_STATES = StructType([*ASSET_STATES.fields, StructField("schedule_id", TEXT)])
"""One row per asset and schedule of which an alert asks for what is to be said of the asset."""


def living_assets(entities: DataFrame, types: Collection[str] | None) -> DataFrame:
    """Return the entities of these types, or of all, that are not deleted: one row per entity.

    From ``catalogue.STORED``. Columns: ``entity_id``, ``entity_type``, ``fqn``, and ``has_owner``, by its own document.
    No shuffle.
    """
    document = entities.select("entity_id", "entity_type", F.from_json("document", _DOCUMENT).alias("document"))
    states = document.where(~F.coalesce("document.deleted", F.lit(False))).select(
        "entity_id",
        "entity_type",
        F.col("document.fullyQualifiedName").alias("fqn"),
        (F.coalesce(F.size("document.owners"), F.lit(0)) > 0).alias("has_owner"),
    )
    return states if types is None else states.where(F.col("entity_type").isin(*sorted(types)))


def without_owner(assets: DataFrame, containers: DataFrame) -> DataFrame:
    """Return those of ``assets`` that have no owner and may inherit none from ``containers``.

    One row per asset: ``entity_id``. Both are of ``living_assets``. Shuffles by id and name. Owners of another type of
    container with such a name do not count, nor do those that come by a reference.
    """
    owned = containers.where("has_owner").select(F.col("fqn").alias("above"), F.col("entity_type").alias("above_type"))
    bare = assets.where(~F.col("has_owner") & F.col("entity_type").isin(*_OWNED_TYPES))
    names_above = bare.select("entity_id", "entity_type", F.explode(_names_above(F.col("fqn"))).alias("above"))
    above_types = [(name, above) for name in _OWNED_TYPES for above in types_above(name)]
    types = F.broadcast(
        assets.sparkSession.createDataFrame(above_types, struct_of(("entity_type", TEXT), ("above_type", TEXT)))
    )
    inheriting = names_above.join(owned, "above").join(types, ["entity_type", "above_type"]).select("entity_id")
    return bare.select("entity_id").join(inheriting, "entity_id", "left_anti")


def asset_states(
    assets: DataFrame, streaks: DataFrame, lacking: DataFrame | None, *, stale_before_ms: int | None
) -> DataFrame:
    """Return what is to be said of these assets: ``ASSET_STATES``, one row per asset of which something is.

    ``streaks`` are those of the tests and runs, ``lacking`` the assets without an owner (None: nobody asks for them).
    Stale is what had its last success until ``stale_before_ms`` (None: nobody asks). Shuffles by id.
    """
    is_failing = F.coalesce(~F.col("verdict").isin(*sorted(NO_FAILURES)), F.lit(False))
    assets_with_streaks = assets.join(
        streaks.select("entity_id", "since_ms", is_failing.alias("is_failing"), "failures"), "entity_id", "left"
    )
    if lacking is None:
        with_owners = assets_with_streaks.withColumn("may_lack_owner", F.lit(False))
    else:
        ownerless_assets = lacking.withColumn("may_lack_owner", F.lit(True))
        with_owners = assets_with_streaks.join(ownerless_assets, "entity_id", "left")
    is_stale = F.lit(False) if stale_before_ms is None else F.col("since_ms") <= F.lit(stale_before_ms)
    is_found = F.coalesce("is_failing", F.lit(False)) | F.coalesce(is_stale, F.lit(False))
    return with_owners.where(is_found | F.coalesce("may_lack_owner", F.lit(False))).select(
        "entity_id",
        "entity_type",
        F.coalesce("is_failing", F.lit(False)).alias("is_failing"),
        F.coalesce("failures", F.lit(0)).cast("long").alias("failures"),
        "since_ms",
        F.coalesce("may_lack_owner", F.lit(False)).alias("may_lack_owner"),
    )


def first_of_each_check(states: DataFrame, limit: int) -> DataFrame:
    """Return the first ``limit`` assets of each schedule: what fails, then the longest without success.

    One row per asset and schedule, with the columns of ``FOUND_STATES``, ``match_count``, the assets of the schedule,
    and ``limit``; rows of a schedule are together and in order. Shuffles by schedule.
    """
    of_schedule = Window.partitionBy("schedule_id")
    order = of_schedule.orderBy(F.desc("is_failing"), F.asc_nulls_last("since_ms"), "entity_id")
    counted = states.withColumn("place", F.row_number().over(order)).withColumn(
        "match_count", F.count("*").over(of_schedule)
    )
    return counted.where(F.col("place") <= limit).drop("place").withColumn("limit", F.lit(limit))


def _names_above(fqn: Column) -> Column:
    """Return the FQNs of everything above an entity: of ``a.b.c``, ``a`` and ``a.b``."""
    parts = F.regexp_extract_all(fqn, F.lit(_PART_OF_NAME), F.lit(0))
    lengths = F.when(F.size(parts) > 1, F.sequence(F.lit(1), F.size(parts) - 1)).otherwise(F.array().cast("array<int>"))
    return F.transform(lengths, lambda length: F.array_join(F.slice(parts, F.lit(1), length), "."))
