"""Of what can a rule speak? Every type of entity, and what is asked for besides entities.

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

POWERS = ("bot", "policy", "role")
"""What decides who may do what."""

_OTHERS = "app eventsubscription feed kpi lineage notificationTemplate page persona suggestion task team type user"
RESOURCES = frozenset({*ASSETS, *POWERS, *_OTHERS.split()})
"""Everything that a rule may name."""
