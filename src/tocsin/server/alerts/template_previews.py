"""Validation and rendering of templates that a person is writing: requests of upstream's forms, and their answers.

Next: ``server/routes/alerts/templates.py``.
"""

from __future__ import annotations

from threading import Lock

from tocsin.delivery.rich_text import RichText
from tocsin.delivery.templates.html_text import to_html
from tocsin.delivery.templates.message_text import MessagePlace, render_entry
from tocsin.delivery.templates.parse import parse
from tocsin.errors import InvalidInput, InvalidTemplate
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.channels import WORDED
from tocsin.model.entity import Document
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import Category, Channel, Destination
from tocsin.model.template import LONGEST_BODY, LONGEST_SUBJECT, Template
from tocsin.server.access.events import shown_event
from tocsin.server.alerts.facts import read_destination
from tocsin.server.alerts.hourly_counts import own_address
from tocsin.server.alerts.template_samples import sample_event
from tocsin.server.alerts.trial import NOBODY, trial_dispatch
from tocsin.server.http.body_values import parse_id
from tocsin.server.request import Caller

_TEXTS = {"templateSubject": LONGEST_SUBJECT, "templateBody": LONGEST_BODY}
_LONGEST_RESOURCE = 128
_NEW = "new template"
MOST_DESTINATIONS = 20
_RENDERING = Lock()
"""Previews of a process render one after the other: several at once would take the processor from other requests."""


def template_of(request: Document) -> Template:
    """Return the template of a request, unread; raise ``InvalidInput`` where a text is missing or too long."""
    for key, longest in _TEXTS.items():
        text = request.get(key)
        if not isinstance(text, str) or not 0 < len(text) <= longest:
            raise InvalidInput(f"must be a text of 1 to {longest:,} characters", field=key)
    return Template(_NEW, request["templateSubject"], request["templateBody"])


def validation_json(template: Template) -> Document:
    """Return upstream's ``notificationTemplateValidationResponse``."""
    return _validation(_error(template.subject), _error(template.body))


def failure_json(error: InvalidTemplate) -> Document:
    """Return the validation of a template that can be read and fails on an event."""
    messages = {error.field: error.message}
    return _validation(messages.get("templateSubject"), messages.get("templateBody"))


def entry_of(request: Document, caller: Caller) -> Entry:
    """Return the notification that a preview is about: of ``eventId``, or of a made-up event.

    Raises
    ------
    InvalidInput : neither ``eventId`` nor ``resource`` can be used
    NotFound : there is no such event that the caller may see
    """
    return Entry(NOBODY, 0, CarriedEvent.of(_event_of(request, caller)))


def preview(template: Template, entry: Entry, place: MessagePlace) -> tuple[Document, RichText | None]:
    """Return upstream's ``notificationTemplateRenderResponse``, with the rendered texts if the template is valid."""
    validation = validation_json(template)
    if not validation["isValid"]:
        return {"validation": validation}, None
    try:
        with _RENDERING:
            text = render_entry(template, entry, place)
    except InvalidTemplate as error:
        return {"validation": failure_json(error)}, None
    return {"validation": validation, "render": {"subject": text.subject, "body": to_html(text.body)}}, text


def channel_of(request: Document) -> str:
    """Return the channel that a request names, mail if none; raise ``InvalidInput`` for none of ours."""
    name = request.get("channel", Channel.EMAIL.value)
    if name not in WORDED:
        raise InvalidInput(f"unknown channel {name!r}; {suggestion_for(name, WORDED)}", field="channel")
    return str(name)


def message_of(channel: str, event: ChangeEvent, text: RichText, caller: Caller) -> Document:
    """Return the message about an event as a channel would send it."""
    destination = Destination(id=NOBODY, category=Category.EXTERNAL, type=Channel(channel))
    dispatch = trial_dispatch(destination, "", event, caller.parts.clock.now_ms(), text=text)
    from tocsin.delivery.channels.previews import PREVIEWS  # loads the templates of mails, which no start needs

    preview = PREVIEWS.get(destination.type)
    return preview(dispatch, caller.parts.settings.base_url()) if preview else {}


def destinations_of(request: Document, caller: Caller) -> list[Destination]:
    """Return where a template is to be sent for a look: as given, or the caller's own address if nothing is.

    Raises
    ------
    InvalidInput : one of them cannot work, or is not External; the message says which
    """
    targets = request.get("destinations")
    if targets is None:
        address = own_address(caller)
        if not address:
            raise InvalidInput("is missing, and you have no e-mail address to send to", field="destinations")
        targets = [{"category": "External", "type": "Email", "config": {"receivers": [address]}}]
    if not isinstance(targets, list) or not 0 < len(targets) <= MOST_DESTINATIONS:
        raise InvalidInput(f"must be a list of 1 to {MOST_DESTINATIONS}", field="destinations")
    destinations = [read_destination(destination, caller) for destination in targets]
    for index, destination in enumerate(destinations):
        if destination.category is not Category.EXTERNAL:
            raise InvalidInput("must be External: others have no address of their own", field=f"destinations[{index}]")
    return destinations


def _event_of(request: Document, caller: Caller) -> ChangeEvent:
    event_id, resource = request.get("eventId"), request.get("resource")
    if event_id is not None:
        event_id = parse_id(event_id, "must be the id of a change event, a UUID", field="eventId")
        return shown_event(event_id, caller).event
    if not isinstance(resource, str) or not 0 < len(resource) <= _LONGEST_RESOURCE:
        message = f"must be a type of entity, of at most {_LONGEST_RESOURCE} characters, unless eventId names an event"
        raise InvalidInput(message, field="resource")
    kind = request.get("eventType")
    if kind is not None and kind not in tuple(EventType):
        raise InvalidInput(f"unknown event type {kind!r}; {suggestion_for(kind, tuple(EventType))}", field="eventType")
    now_ms = caller.parts.clock.now_ms()
    return sample_event(resource, None if kind is None else EventType(kind), caller.actor, now_ms)


def _error(text: str) -> str | None:
    try:
        parse(text)
    except InvalidTemplate as error:
        return error.message
    return None


def _validation(subject: str | None, body: str | None) -> Document:
    return {"isValid": subject is None and body is None, "subjectError": subject, "bodyError": body}
