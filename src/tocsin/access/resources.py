"""Resources that a rule can name: every entity type, and other resources of the API.

Source: OpenMetadata 1.13's entity types, and ``ResourceRegistry``. Next: ``access/defaults.py``.
"""

from __future__ import annotations

_ASSETS = """
    apiCollection apiEndpoint apiService chart classification container dashboard dashboardDataModel dashboardService
    dataProduct database databaseSchema databaseService directory domain driveService file glossary glossaryTerm
    ingestionPipeline messagingService metadataService metric mlmodel mlmodelService pipeline pipelineService query
    searchIndex searchService securityService spreadsheet storageService storedProcedure table tag testCase
    testDefinition testSuite topic worksheet
"""
ASSETS = tuple(_ASSETS.split())
"""What people own, describe, tag and follow, and what orders it."""

CONTAINERS = frozenset(
    """
    apiCollection apiService classification container dashboardService dataProduct database databaseSchema
    databaseService directory domain driveService glossary glossaryTerm ingestionPipeline messagingService
    metadataService mlmodelService pipelineService searchService securityService spreadsheet storageService tag
    testDefinition
    """.split()
)
"""Assets that hold others, bring them in or order them: whoever owns one has a say in what others own."""

CLAIMABLE = tuple(one for one in ASSETS if one not in CONTAINERS)
"""Assets of which anybody may name an owner while they have none."""

ORDER = ("classification", "dataProduct", "domain", "glossary", "glossaryTerm", "tag")
"""Assets that order others, and on which policies may rest."""

DATA = tuple(one for one in ASSETS if one not in ORDER)
"""All other assets."""

POWERS = ("bot", "policy", "role")
"""What decides who may do what."""

_OTHERS = "app eventsubscription feed kpi lineage notificationTemplate page persona suggestion task team type user"
RESOURCES = frozenset({*ASSETS, *POWERS, *_OTHERS.split()})
"""Everything that a rule may name."""
