"""Entity types of governance: glossaries, tags, domains, data products and custom properties.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are its schema's. Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, EntityType, Parentage, words

ROWS = (
    EntityType(
        "glossary",
        "glossaries",
        keys=COMMON
        | words(
            "dataContract dataProducts disabled entityStatus extension mutuallyExclusive provider reviewers tags "
            "termCount usageCount votes"
        ),
        required=("name", "description"),
        is_renamable=True,
    ),
    EntityType(
        "glossaryTerm",
        "glossaryTerms",
        keys=COMMON
        | words(
            "children childrenCount conceptMappings dataContract dataProducts disabled entityStatus extension "
            "glossary mutuallyExclusive parent provider references relatedTerms reviewers style synonyms tags "
            "usageCount votes"
        ),
        required=("name", "description", "glossary"),
        places=(
            Parentage("parent", ("glossaryTerm",)),
            Parentage("glossary", ("glossary",)),
        ),
        ancestors=("glossary",),
        is_renamable=True,
        is_movable=True,
    ),
    EntityType(
        "classification",
        "classifications",
        keys=COMMON
        | words(
            "autoClassificationConfig disabled entityStatus mutuallyExclusive provider reviewers termCount usageCount"
        ),
        required=("name", "description"),
        is_renamable=True,
    ),
    EntityType(
        "tag",
        "tags",
        keys=COMMON
        | words(
            "autoClassificationEnabled autoClassificationPriority children classification dataContract "
            "dataProducts deprecated disabled entityStatus mutuallyExclusive parent provider recognizers "
            "reviewers style usageCount"
        ),
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
            "assets certification consumesFrom entityStatus experts extension followers lifecycleStage providesTo "
            "reviewers sla style tags votes"
        ),
        required=("name", "description", "domains"),
        is_renamable=True,
    ),
    EntityType(
        "type",
        "metadata/types",
        keys=(COMMON - words("deleted owners")) | words("category customProperties dataProducts nameSpace schema"),
        required=("name", "description"),
    ),
)
