"""Entity types of governance: glossaries, tags, domains, data products and custom properties.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are those of its schema and of ``added``.
Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, FOLLOWERS, EntityType, Parentage, words

_OF_PRODUCTS = {
    "dataProductType": {
        "enum": [
            *("RAW_DATA", "DERIVED_DATA", "DATASET", "REPORTS", "ANALYTIC_VIEW", "VISUALISATION_3D", "ALGORITHM"),
            *("DECISION_SUPPORT", "AUTOMATED_DECISION_MAKING", "DATA_ENHANCED_PRODUCT", "DATA_DRIVEN_SERVICE"),
            *("DATA_ENABLED_PERFORMANCE", "BI_DIRECTIONAL"),
        ]
    },
    "portfolioPriority": {"enum": ["CRITICAL", "HIGH", "MEDIUM", "LOW"]},
    "visibility": {"enum": ["PRIVATE", "INVITATION", "ORGANISATION", "DATASPACE", "PUBLIC"]},
}
"""Keys of data products that came with OpenMetadata 1.13.6."""

ROWS = (
    EntityType(
        "glossary",
        "glossaries",
        keys=COMMON
        | words(
            "dataContract dataProducts disabled entityStatus extension followers mutuallyExclusive provider reviewers "
            "tags termCount usageCount votes"
        ),
        added=FOLLOWERS,
        required=("name", "description"),
        is_renamable=True,
    ),
    EntityType(
        "glossaryTerm",
        "glossaryTerms",
        keys=COMMON
        | words(
            "children childrenCount conceptMappings dataContract dataProducts disabled entityStatus extension "
            "followers glossary mutuallyExclusive parent provider references relatedTerms reviewers style synonyms "
            "tags usageCount votes"
        )
        | {"iri"},
        required=("name", "description", "glossary"),
        places=(
            Parentage("parent", ("glossaryTerm",)),
            Parentage("glossary", ("glossary",)),
        ),
        ancestors=("glossary",),
        is_renamable=True,
        is_movable=True,
        added={**FOLLOWERS, "iri": {"text": {"format": "uri"}}},  # the latter since 2.0
    ),
    EntityType(
        "classification",
        "classifications",
        keys=COMMON
        | words(
            "autoClassificationConfig disabled entityStatus followers mutuallyExclusive provider "
            "reviewers termCount usageCount"
        ),
        added=FOLLOWERS,
        required=("name", "description"),
        is_renamable=True,
    ),
    EntityType(
        "tag",
        "tags",
        keys=COMMON
        | words(
            "autoClassificationEnabled autoClassificationPriority children classification dataContract "
            "dataProducts deprecated disabled entityStatus followers mutuallyExclusive parent provider recognizers "
            "reviewers style usageCount"
        ),
        added=FOLLOWERS,
        required=("name", "description"),
        places=(
            Parentage("parent", ("tag",)),
            Parentage("classification", ("classification",)),
        ),
        ancestors=("classification",),
        is_renamable=True,
        is_movable=True,
        ignored=("associatedTags",),
    ),
    EntityType(
        "domain",
        "domains",
        keys=(COMMON - words("deleted domains"))
        | words(
            "assets certification children childrenCount domainType entityStatus experts extension followers "
            "parent style tags votes"
        ),
        required=("name", "description", "domainType"),
        places=(Parentage("parent", ("domain",)),),
        may_stand_alone=True,
        is_renamable=True,
        is_movable=True,
    ),
    EntityType(
        "dataProduct",
        "dataProducts",
        keys=(COMMON - words("deleted"))
        | words(
            "assets certification consumesFrom dataProductType entityStatus experts extension followers "
            "lifecycleStage portfolioPriority providesTo reviewers sla style tags visibility votes"
        ),
        required=("name", "description", "domains"),
        added=_OF_PRODUCTS,
        is_renamable=True,
    ),
    EntityType(
        "type",
        "metadata/types",
        keys=(COMMON - words("deleted owners")) | words("category customProperties dataProducts nameSpace schema"),
        required=("name", "description"),
    ),
)
