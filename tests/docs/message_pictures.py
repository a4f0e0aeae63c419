"""Pictures of messages in ``docs/images``: mails as a browser shows them, chats drawn after their vendors' documents.

``python -m tests.docs.message_pictures`` draws them anew with Chromium. The mails are what is sent. Of a chat message
the same JSON is drawn, one element of it after another; the programs of the vendors draw it their own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, sync_playwright
from tests.browser.conftest import CHROMIUM
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import message_about

from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.links.follow import unfollow_text
from tocsin.delivery.links.mute import MUTE_TEXT
from tocsin.model.subscription import Channel

IMAGES = Path(__file__).resolve().parents[2] / "docs/images"
SHOWN = ("failed_test", "many_changes", "recovered_run", "deleted_with_all_below", "still_failing")
"""The kinds of event that the pictures of chats show, below each other."""

MAIL_VIEWS = {
    "mail-light": ("failed_test", "light", 600),
    "mail-dark": ("many_changes", "dark", 600),
    "mail-narrow-light": ("many_changes", "light", 400),
    "mail-narrow-dark": ("failed_test", "dark", 400),
}
"""By the name of a picture: a kind of event, the colours, and the width in pixels."""

CHATS = {"slack": Channel.SLACK, "teams": Channel.MS_TEAMS, "google-chat": Channel.G_CHAT}
Json = dict[str, Any]

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px; font: 14px/1.45 Arial, sans-serif; color: #1a1d23; background: #fff }}
h4 {{ margin: 0 0 6px; font-size: 16px }} .bar {{ border-left: 4px solid #ddd; padding-left: 12px }}
.context, .subtle {{ color: #596270; font-size: 12px }} .message {{ margin: 0 0 20px }} code {{ color: #8a1c4a }}
.card {{ border: 1px solid #e3e6eb; border-radius: 6px; padding: 12px }} .button {{ display: inline-block;
border: 1px solid #808997; border-radius: 4px; padding: 3px 10px; margin: 6px 6px 0 0 }}
.attention {{ background: #fdeeee; color: #c02626 }} .warning {{ background: #fdf3e1; color: #8f5200 }}
.good {{ background: #e9f6ec; color: #26703a }}
.attention, .warning, .good {{ margin: -12px -12px 8px; padding: 10px 12px }}
p, div {{ margin: 0 0 4px; white-space: pre-wrap; overflow-wrap: anywhere }}
</style>{body}"""


def message_of(kind: str, channel: Channel) -> Json:
    """Return the message about an event of a kind, as a channel sends it; a mail to a follower has all buttons."""
    message = message_about(kind, channel)
    if channel is not Channel.EMAIL:
        return PREVIEWS[channel](message, samples.HOME)
    links = ((f"{samples.HOME}/mute", MUTE_TEXT), (f"{samples.HOME}/follow", unfollow_text(None)))
    return render_texts(message, samples.HOME, f"{samples.HOME}/unsubscribe", links)


def chat_page(channel: Channel) -> str:
    """Return a page that shows the messages of a chat."""
    draw = {Channel.SLACK: slack_html, Channel.MS_TEAMS: teams_html, Channel.G_CHAT: google_html}[channel]
    return PAGE.format(body="".join(f'<div class="message">{draw(message_of(kind, channel))}</div>' for kind in SHOWN))


def slack_html(message: Json) -> str:
    """Return a Slack message as HTML."""
    beside_bar = "".join(map(_slack_attachment, message.get("attachments", ())))
    return "".join(map(_slack_block, message["blocks"])) + beside_bar


def _slack_attachment(attachment: Json) -> str:
    inner = "".join(map(_slack_block, attachment["blocks"]))
    return f'<div class="bar" style="border-color: {attachment["color"]}">{inner}</div>'


def _slack_block(block: Json) -> str:
    match block["type"]:
        case "header":
            return f"<h4>{escape(block['text']['text'])}</h4>"
        case "context":
            return f'<div class="context">{" ".join(_slack_text(one) for one in block["elements"])}</div>'
        case "rich_text":
            spans = (span for element in block["elements"] for span in element["elements"])
            return f"<div>{''.join(map(_slack_span, spans)).strip()}</div>"
        case unknown:
            raise ValueError(unknown)


def _slack_text(text: Json) -> str:
    if text["type"] == "plain_text":
        return escape(text["text"])
    inner = text["text"].strip("<>")
    label = _slack_moment(int(inner.split("^")[1])) if inner.startswith("!date") else inner.rpartition("|")[2]
    return f'<span style="color: #3b5bdb">{escape(label)}</span>' if "://" in inner else escape(label)


def _slack_moment(at_s: int) -> str:
    """Return a time, in epoch seconds, as Slack shows it to somebody in Berlin."""
    return f"{datetime.fromtimestamp(at_s, ZoneInfo('Europe/Berlin')):%b %d, %Y %H:%M}"


def _slack_span(span: Json) -> str:
    text = _slack_moment(span["timestamp"]) if span["type"] == "date" else span["text"]
    html, style = escape(text), span.get("style", {})
    for name, tag in (("strike", "s"), ("underline", "u"), ("italic", "i"), ("bold", "b"), ("code", "code")):
        html = f"<{tag}>{html}</{tag}>" if style.get(name) else html
    return html


def teams_html(message: Json) -> str:
    """Return an Adaptive Card as HTML."""
    card = message["attachments"][0]["content"]
    buttons = "".join(f'<span class="button">{escape(one["title"])}</span>' for one in card.get("actions", ()))
    return f'<div class="card">{"".join(map(_teams_element, card["body"]))}{buttons}</div>'


def _teams_element(element: Json) -> str:
    if element["type"] == "Container":
        return f'<div class="{element.get("style", "")}">{"".join(map(_teams_element, element["items"]))}</div>'
    return f"<p>{''.join(map(_teams_run, element['inlines']))}</p>"


def _teams_run(run: Json) -> str:
    html = escape(run["text"])
    for name, tag in (("strikethrough", "s"), ("underline", "u"), ("italic", "i")):
        html = f"<{tag}>{html}</{tag}>" if run.get(name) else html
    html = f"<b>{html}</b>" if run.get("weight") == "Bolder" else html
    html = f"<code>{html}</code>" if run.get("fontType") == "Monospace" else html
    return f'<span class="subtle">{html}</span>' if run.get("isSubtle") else html


def google_html(message: Json) -> str:
    """Return a card of Google Chat as HTML: its paragraphs are HTML already."""
    card = message["cardsV2"][0]["card"]
    header = (
        f"<h4>{escape(card['header']['title'])}</h4><p class='subtle'>{escape(card['header'].get('subtitle', ''))}</p>"
    )
    widgets = (widget for section in card["sections"] for widget in section["widgets"])
    return f'<div class="card">{header}{"".join(_google_widgets(widgets))}</div>'


def _google_widgets(widgets: Iterator[Json]) -> Iterator[str]:
    for widget in widgets:
        if "textParagraph" in widget:
            yield f"<p>{widget['textParagraph']['text']}</p>"
        for button in widget.get("buttonList", {}).get("buttons", ()):
            yield f'<span class="button">{escape(button["text"])}</span>'


def draw_pictures(page: Page) -> None:
    """Draw all pictures."""
    for name, (kind, scheme, width) in MAIL_VIEWS.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of two literals
        page.set_viewport_size({"width": width, "height": 100})
        page.set_content(message_of(kind, Channel.EMAIL)["html"])
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 620, "height": 100})
    for name, channel in CHATS.items():
        page.set_content(chat_page(channel))
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        draw_pictures(browser.new_page())
        browser.close()
