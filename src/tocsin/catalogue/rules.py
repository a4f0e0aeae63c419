"""Rules of all entity types, in the order in which the write path asks for them.

Next: ``flow/capture/write.py``, which says when each is called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tocsin.catalogue.changes import end_column_requests
from tocsin.catalogue.feed.approvals import TERM, update_task_for_reviewers, update_task_for_status, with_review_status
from tocsin.catalogue.governance.columns import with_checked_columns
from tocsin.catalogue.governance.custom_properties import forget_values, with_checked_extension
from tocsin.catalogue.governance.labels import with_certificate_dates, with_checked_labels, with_shown_labels
from tocsin.catalogue.governance.memberships import put_members
from tocsin.catalogue.governance.shorthands import expand, with_query_name
from tocsin.catalogue.lineage import edges
from tocsin.catalogue.naming.follow import follow_renaming, remove_from_alerts, renaming_of
from tocsin.catalogue.naming.policy_names import (
    NAMED_IN_POLICIES,
    POLICY,
    as_of_now,
    follow_in_policies,
    remove_from_policies,
)
from tocsin.catalogue.observations.life_cycle import with_newest
from tocsin.catalogue.observations.table_details import put_config_given
from tocsin.catalogue.people import teams
from tocsin.catalogue.people.names import check_name, check_not_removed
from tocsin.catalogue.people.own_addresses import check_own_addresses, with_kept_addresses
from tocsin.catalogue.people.policies import with_checked_rules
from tocsin.catalogue.quality.case_placement import check_purpose, place_case, place_suite
from tocsin.catalogue.templates import check_assigned, check_unused, with_checked_texts
from tocsin.conditions.entity_names import PEOPLE
from tocsin.flow.capture.prepare import checked_request, draft_of
from tocsin.flow.capture.references import Resolver
from tocsin.flow.capture.write import Record, Rules
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.people import PRINCIPALS
from tocsin.model.runbook import check_new_runbook
from tocsin.model.stored import Draft, Stored, Written
from tocsin.model.template import NOTIFICATION_TEMPLATE


class CatalogueRules(Rules):
    """The rules of people, governance, lineage and quality, by the type of entity that they are about."""

    def draft(self, record: Record, resolver: Resolver, kind: EntityType, request: Document) -> Draft | None:
        """Place tests under what they test; fill in the name of a query."""
        match kind.name:
            case "testCase":
                return place_case(record, resolver, checked_request(kind, request))
            case "testSuite":
                return place_suite(resolver, checked_request(kind, request))
            case _:
                return draft_of(resolver, kind, with_query_name(kind.name, request))

    def view_of(self, record: Record, document: Document, old: Stored, paths: Collection[str]) -> Document:
        """Show in labels what their tags say, and of teams and people the parents, teams and domains worked out."""
        labelled = with_shown_labels(record.transaction, document, paths)
        return teams.as_patched(record.transaction, labelled, old, paths)

    def complete(
        self, record: Record, resolver: Resolver, kind: EntityType, fields: Document, old: Document
    ) -> Document:
        """Check policies, teams, templates, runbooks, labels and custom properties; spell out shorthands."""
        transaction = record.transaction
        complete_document = with_certificate_dates(with_newest(fields, old), old, record.at_ms)
        complete_document = with_checked_rules(transaction, complete_document, old)
        if isinstance(complete_document.get("email"), str):
            complete_document["email"] = complete_document["email"].strip().lower()
        complete_document = with_kept_addresses(record, kind.name, complete_document, old, strict=resolver.strict)
        if not resolver.strict:
            return with_review_status(record, complete_document, old) if kind.name == TERM else complete_document
        check_new_runbook(complete_document, old)
        if kind.name in PRINCIPALS:
            check_name(transaction, complete_document, old)
            check_own_addresses(complete_document, old)
        elif kind.name in NAMED_IN_POLICIES:
            check_not_removed(complete_document, old)
        complete_document = _of_its_kind(record, kind, complete_document, old)
        complete_document = with_checked_labels(
            transaction, expand(kind.name, resolver, complete_document, old), old, resolver.permit
        )
        return with_checked_extension(transaction, kind.name, with_checked_columns(kind, complete_document, old), old)

    def of_the_past(self, record: Record, entity_type: str, past: Document) -> Document:
        """Let a past version of a policy grant nothing to who has the name of a person since deleted."""
        return as_of_now(record.transaction, past, int(past["updatedAt"])) if entity_type == POLICY else past

    def before_change(self, record: Record, old: Stored, fields: Document) -> None:
        """Remove the values of custom properties that a type no longer has."""
        if old.entity_type == "type":
            forget_values(record, old, fields)

    def after_write(self, record: Record, entity_type: str, document: Document, before: Document) -> None:
        """Keep implied lineage edges, the tasks that approve glossary terms, and who creates or changes an alert."""
        edges.connect(record, entity_type, document, before)
        if entity_type == TERM:
            update_task_for_status(record, document, before)
        update_task_for_reviewers(record, entity_type, document, before)
        if entity_type == "eventsubscription" and document != before:
            record.transaction.alert_editors.add(document["id"], record.actor.id, record.at_ms)

    def members(self, record: Record, entity_type: str, request: Document, written: Written) -> Written:
        """Write the child teams of a team, the assets of a data product, the profiler configuration of a table."""
        if entity_type == "table":
            return put_config_given(record, request, written)
        return put_members(record, entity_type, request, written)

    def check_removal(self, record: Record, target: Stored) -> None:
        """Refuse to delete a template that alerts use."""
        if target.entity_type == NOTIFICATION_TEMPLATE:
            check_unused(record, target)

    def goes_with(self, entity: Stored, gone_ids: Collection[str]) -> bool:
        """Return whether an alert tells nobody but people who go for good; a saved search may have been shared."""
        document = entity.document
        if entity.entity_type != "eventsubscription" or not document.get("toMeOnly") or document.get("search"):
            return False
        owners = document.get("owners") or ()
        return bool(owners) and all(owner["id"] in gone_ids for owner in owners)

    def before_removal(self, record: Record, entity: Stored, also_gone: Collection[str]) -> None:
        """Write the loss of its lineage edges; end its change requests; remove its name from alerts."""
        edges.leave_edges(record, entity, also_gone)
        if not record.is_recorded:  # a history is older than all requests
            end_column_requests(record, entity)
        if entity.entity_type in PEOPLE:
            remove_from_alerts(record, entity)

    def before_removals(self, record: Record, entities: Sequence[Stored], root: Stored) -> None:
        """Remove the names of entities from policies."""
        remove_from_policies(record, entities, root)

    def after_renaming(self, record: Record, moved: Sequence[tuple[Stored, str]]) -> None:
        """Let alerts and policies say the new names, and remember the old ones."""
        record.transaction.remember_renaming(*moved[0])
        record.transaction.remember_names([(entity.entity_type, entity.fqn, entity.id) for entity, _ in moved])
        renaming = renaming_of(moved)
        follow_renaming(record, renaming)
        follow_in_policies(record, renaming)


def _of_its_kind(record: Record, kind: EntityType, document: Document, old: Document) -> Document:
    """Return the document once the rules of its own type are checked, with what they fill in."""
    transaction = record.transaction
    match kind.name:
        case "team":
            return teams.with_checked_parents(transaction, document, old)
        case "user":
            return teams.without_root_team(transaction, document, old)
        case "testCase":
            check_purpose(transaction, document, old)
        case "glossaryTerm":
            return with_review_status(record, document, old)
        case "eventsubscription":
            check_assigned(transaction, document, old)
        case "notificationTemplate":
            return with_checked_texts(document, old, record.actor)
    return document
