"""Sheets of a glossary, one row per term: name, definition, relations, labels and people.

Source: OpenMetadata's ``glossaryCsvDocumentation.json``. Next: ``import_rows.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tocsin.catalogue.sheets.cells import (
    EXTENSION,
    SheetField,
    SheetFields,
    join_parts,
    labels_field,
    people_field,
    split_parts,
    text_field,
)
from tocsin.catalogue.sheets.import_rows import RowLinks, fill, import_rows, put, rewritten
from tocsin.catalogue.sheets.rows import Header, Outcome, Row, SheetKind
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.upsert import create
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written, soft_deleted

_TERM = "glossaryTerm"
_RELATED = "relatedTo"

TERM_SHEET = SheetKind(
    "Updates the terms of a glossary and creates missing ones; terms without a row stay unchanged.",
    (
        Header("parent", "FQN of the parent term; empty at the top level.", ("`Shop.Client`",)),
        Header("name", "The term's own name.", ("Name of the term.",), required=True),
        Header("displayName", "Display name.", ("`Customer`",)),
        Header("description", "Description, in Markdown; required for new terms.", ("Who has **bought** something.",)),
        Header("synonyms", "Synonyms, separated by `;`.", ("`customer;buyer`",)),
        Header("relatedTerms", "Related terms (FQNs), each after its relation.", ("`broader:Shop.Person`",)),
        Header("references", "References: names and URLs in turn, separated by `;`.", ("`ISO;https://iso.org/x`",)),
        Header("tags", "Tags (FQNs), separated by `;`.", ("`PII.Sensitive`",)),
        Header("reviewers", "Reviewers, separated by `;`.", ("`user:jane;team:sales`",)),
        Header("owner", "Owners, separated by `;`.", ("`user:jane;team:sales`",)),
        Header("glossaryStatus", "Status; empty: unchanged.", ("`Draft`", "`Approved`", "`Deprecated`")),
        Header("color", "Colour.", ("`#FF5733`",)),
        Header("iconURL", "URL of the icon.", ("`https://example.com/icon.png`",)),
        Header("extension", "Custom properties as `name:value`, separated by `;`.", ("`source:ISO 8000`",)),
    ),
)


def term_rows(terms: Iterable[Document]) -> Iterator[list[str]]:
    """Yield a row for every term; given in FQN order, each follows its parent."""
    for term in terms:
        parent = (term.get("parent") or {}).get("fullyQualifiedName", "")
        yield [parent, term["name"], *(_FIELDS[header.name].text(term) for header in TERM_SHEET.headers[2:])]


def import_terms(record: Record, glossary: Stored, sheet_rows: tuple[Row, ...]) -> list[Outcome]:
    """Change a glossary's terms to match the rows, each with its own event; rejected rows are skipped.

    Terms are written after their parents and what they are related to, whatever the order of the rows. Of new terms
    that name each other, each has two events.
    """
    rows_by_name: dict[str, Row] = {}
    places = sorted(range(len(sheet_rows)), key=lambda at: _depth(sheet_rows[at]))
    links = RowLinks(
        partial(_full_name, glossary),
        partial(_missing_terms, record.transaction, glossary),
        frozenset({"relatedTerms"}),
    )
    sorted_outcomes = import_rows(
        record, [sheet_rows[at] for at in places], partial(_import_one, record, glossary, rows_by_name), links
    )
    outcomes = dict(zip(places, sorted_outcomes, strict=True))
    return [outcomes[at] for at in range(len(sheet_rows))]


def _full_name(glossary: Stored, row: Row) -> str | None:
    """Return the FQN of a row's term; None if the row cannot say it."""
    try:
        return fqn.child(_parent(glossary, row.values["parent"]) or glossary.fqn, row.values["name"])
    except (InvalidInput, KeyError):
        return None


def _missing_terms(transaction: Transaction, glossary: Stored, row: Row) -> Iterator[str]:
    """Yield the FQNs of terms that a row names and that are not there."""
    related = [_relation(part)[1] for part in split_parts(row.values.get("relatedTerms", ""))]
    parent = _parent(glossary, row.values.get("parent", ""))
    for name in (*related, *((parent,) if parent else ())):
        if transaction.reference(_TERM, Key.by_name(name)) is None:
            yield name


def _import_one(record: Record, glossary: Stored, reported: dict[str, Row], row: Row) -> str:
    parent = _parent(glossary, row.values.get("parent", ""))
    full = fqn.child(parent or glossary.fqn, row.values["name"])
    if reported.setdefault(full, row).cells is not row.cells:
        raise InvalidInput(f"term {full} appears twice")
    return _bring(record, glossary, (full, parent), row)


def _bring(record: Record, glossary: Stored, place: tuple[str, str | None], row: Row) -> str:
    """Bring the term of that full name, below that parent, to what its row says; return what was done."""
    full_name, parent = place
    old = record.transaction.find(_TERM, Key.by_name(full_name))
    if old is None:
        parent_fields = {"glossary": glossary.fqn} | ({"parent": parent} if parent else {})
        _create(record, {"name": row.values["name"], "description": ""} | parent_fields, row)
        return "Term created"
    if record.visible(old).is_deleted:
        raise soft_deleted(_TERM, full_name)
    new_document = rewritten(record, old, row, _FIELDS)
    return "Term unchanged" if put(record, old, new_document).event is None else "Term updated"


def _create(record: Record, request: Document, row: Row) -> Written:
    fill(record.transaction, request, row, _FIELDS)
    if not request["description"]:
        raise InvalidInput("a new term needs a description")
    return create(record, _TERM, request)


def _parent(glossary: Stored, cell: str) -> str | None:
    parent = cell.strip()
    if not parent:
        return None
    full = fqn.join(fqn.split(parent))
    if full == glossary.fqn:
        return None
    if not full.startswith(f"{glossary.fqn}."):
        raise InvalidInput(f"{full} is in another glossary than {glossary.fqn}")
    return full


def _depth(row: Row) -> int:
    return row.values.get("parent", "").count(".")


def _related_texts(term: Document) -> str:
    """Return the relations that name their terms; they do not to people who may not see those terms."""
    relations = (one for one in term.get("relatedTerms") or () if "fullyQualifiedName" in (one.get("term") or one))
    return join_parts(_related_text(one) for one in relations)


def _related_text(relation: Document) -> str:
    name = (relation.get("term") or relation)["fullyQualifiedName"]
    kind = relation.get("relationType", _RELATED)
    return str(name) if kind == _RELATED else f"{kind}:{name}"


def _relation(part: str) -> tuple[str, str]:
    """Return the relation and the FQN that a part of a cell names."""
    kind, colon, name = part.partition(":")
    return (kind, name) if colon and kind.isidentifier() else (_RELATED, part)


def _relation_to(transaction: Transaction, part: str) -> Document:
    kind, name = _relation(part)
    term = transaction.reference(_TERM, Key.by_name(name))
    if term is None or term.get("deleted"):
        raise InvalidInput(f"unknown glossary term {name}")
    return {"relationType": kind, "term": term}


def _set_relations(transaction: Transaction, term: Document, text: str) -> None:
    term["relatedTerms"] = [_relation_to(transaction, part) for part in split_parts(text)]


def _reference_texts(term: Document) -> str:
    references = term.get("references") or ()
    return join_parts(text for one in references for text in (one.get("name", ""), one.get("endpoint", "")))


def _set_references(_transaction: Transaction, term: Document, text: str) -> None:
    parts = split_parts(text)
    if len(parts) % 2:
        raise InvalidInput("references must be names and URLs in turn: name;https://example.com")
    pairs = zip(parts[::2], parts[1::2], strict=True)
    term["references"] = [{"name": name, "endpoint": endpoint} for name, endpoint in pairs]


def _style_field(key: str) -> SheetField:
    def put(_transaction: Transaction, term: Document, text: str) -> None:
        style = {name: value for name, value in (term.get("style") or {}).items() if name != key}
        term["style"] = style | ({key: text.strip()} if text.strip() else {})

    return SheetField(lambda term: (term.get("style") or {}).get(key) or "", put)


def _set_status(_transaction: Transaction, term: Document, text: str) -> None:
    if text.strip():
        term["entityStatus"] = text.strip()


_FIELDS: SheetFields = {
    "displayName": text_field("displayName"),
    "description": text_field("description"),
    "synonyms": SheetField(
        lambda term: join_parts(term.get("synonyms") or []),
        lambda _transaction, term, text: term.update(synonyms=split_parts(text)),
    ),
    "relatedTerms": SheetField(_related_texts, _set_relations),
    "references": SheetField(_reference_texts, _set_references),
    "tags": labels_field("tag"),
    "reviewers": people_field("reviewers"),
    "owner": people_field("owners"),
    "glossaryStatus": SheetField(lambda term: term.get("entityStatus") or "", _set_status),
    "color": _style_field("color"),
    "iconURL": _style_field("iconURL"),
    "extension": EXTENSION,
}
