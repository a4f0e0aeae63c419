"""Entity types of databases: databases, schemas, tables, stored procedures and queries.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are those of its schema and of ``added``.
Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, DATA, EntityType, Parentage, words

ROWS = (
    EntityType(
        "database",
        "databases",
        keys=COMMON
        | DATA
        | words("databaseProfilerConfig databaseSchemas default location retentionPeriod usageSummary"),
        required=("name", "service"),
        places=(Parentage("service", ("databaseService",)),),
    ),
    EntityType(
        "databaseSchema",
        "databaseSchemas",
        keys=COMMON | DATA | words("database databaseSchemaProfilerConfig retentionPeriod tables usageSummary"),
        required=("name", "database"),
        places=(Parentage("database", ("database",)),),
        ancestors=("service",),
    ),
    EntityType(
        "table",
        "tables",
        keys=COMMON
        | DATA
        | words(
            "aliases columns compressionCodec compressionEnabled compressionStrategy customMetrics dataModel database "
            "databaseSchema fileFormat joins location locationPath pipelineObservability processedLineage profile "
            "queries retentionPeriod sampleData schemaDefinition tableConstraints tablePartition "
            "tableProfilerConfig tableType testSuite usageSummary"
        ),
        required=("name", "columns", "databaseSchema"),
        places=(Parentage("databaseSchema", ("databaseSchema",)),),
        ancestors=("database", "service"),
        members=("columns",),
        breaking=("columns",),
        added={"aliases": {"list": {"use": "fullyQualifiedEntityName"}}},
        separate_keys=words(
            "customMetrics joins pipelineObservability profile sampleData tableProfilerConfig testSuite usageSummary"
        ),
    ),
    EntityType(
        "storedProcedure",
        "storedProcedures",
        keys=COMMON
        | DATA
        | words("code database databaseSchema processedLineage storedProcedureCode storedProcedureType"),
        required=("name", "storedProcedureCode", "databaseSchema"),
        places=(Parentage("databaseSchema", ("databaseSchema",)),),
        ancestors=("database", "service"),
    ),
    EntityType(
        "query",
        "queries",
        keys=(COMMON - words("deleted"))
        | words(
            "checksum duration entityStatus exclude_usage followers processedLineage query queryDate queryUsedIn "
            "query_type service tags triggeredBy usedBy users votes"
        ),
        required=("query", "service"),
        places=(Parentage("service", ("databaseService",)),),
        ignored=("dialect",),
    ),
)
