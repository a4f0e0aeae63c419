"""Tests that everything the pages name exists, and that every page, package and decision is listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from typer._click.core import Command
from typer.core import TyperGroup
from typer.main import get_command

from tocsin.cli.app import app_of

app = app_of()

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/tocsin"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

CODE = re.compile(r"```.*?\n(?P<block>.*?)```|`(?P<span>[^`\n]+)`", re.DOTALL)
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|md|toml|js|csv|lark|sql))|(?:src|tests|docs)(?:/[\w.-]+)+")
LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)#]+)")
MADE_BY_USERS = {"tocsin.toml", "alerts.toml"}
DECISION_PARTS = ("**Context.**", "**Choice.**", "**What we gave up.**", "**How we would notice that it was wrong.**")


def test_every_file_and_folder_that_a_page_names_exists() -> None:
    paths = [(page, span) for page in PAGES for span in _spans(page) if PATH.fullmatch(span)]
    assert [(str(page), path) for page, path in paths if path not in MADE_BY_USERS and not _exists(path, page)] == []


def test_every_name_that_a_page_puts_in_a_file_stands_there() -> None:
    pattern = re.compile(r"`([A-Za-z_]+)`\s+in\s+`(src/[\w/]+\.py)`")
    names_in_files = [(str(page), *pair) for page in PAGES for pair in pattern.findall(_text(page))]
    assert [row for row in names_in_files if row[1] not in (ROOT / row[2]).read_text()] == []


def test_every_link_leads_somewhere() -> None:
    targets = [(page, link["target"]) for page in PAGES for link in LINK.finditer(_text(page))]
    local = [(page, target) for page, target in targets if "://" not in target]
    assert [(str(page), target) for page, target in local if not (page.parent / target).exists()] == []


def test_every_section_that_a_link_names_exists() -> None:
    pattern = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")
    linked = [(page, target, section) for page in PAGES for target, section in pattern.findall(_text(page))]
    sections = [(page, page.parent / target if target else page, section) for page, target, section in linked]
    assert [(str(page), section) for page, target, section in sections if section not in _sections(target)] == []


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pattern = re.compile(r"(?:^|`|\s)make ([a-z]+)(?=$|`|\s)")
    targets_named = {(str(page), word) for page in PAGES for code in _code(page) for word in pattern.findall(code)}
    assert [(page, word) for page, word in targets_named if word not in targets] == []


def test_every_command_and_option_that_a_page_names_exists() -> None:
    pattern = re.compile(r"(?:^|[(\s])tocsin ([a-z][^#)|\n]*)", re.MULTILINE)
    calls = [(str(page), call) for page in PAGES for code in _code(page) for call in pattern.findall(code)]
    assert [(page, call, word) for page, call in calls for word in _unknown_words(call.split())] == []


def test_the_page_of_the_command_line_names_every_command() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    assert [name for name in _commands(_tocsin(), "tocsin") if f"`{name}" not in page] == []


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    linked = {link["target"] for link in LINK.finditer(readme)}
    own_page = [name for name in NAMES if not name.startswith("docs/decisions/") and name != "README.md"]
    assert [name for name in own_page if name not in linked] == []


def test_the_architecture_names_every_package() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE}
    packages = sorted(str(folder.relative_to(PACKAGE)) for folder in folders)
    assert [package for package in packages if f"`{package}`" not in page] == []


def test_the_readme_says_what_to_do_first() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.index("make up") < readme.index("make test") < readme.index("## Install")


def test_the_glossary_is_in_order_and_says_each_word_once() -> None:
    first_cells = re.findall(r"^\| ([\w -]+?) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    words = [word.lower() for word in first_cells if word != "word" and not set(word) <= {"-"}]
    assert words == sorted(set(words))
    assert len(words) > 40


def test_decisions_are_numbered_and_say_what_was_given_up() -> None:
    records = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [record.name[:4] for record in records]
    assert all(re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", record.name) for record in records)
    assert len(set(numbers)) == len(numbers)
    missing = [(record.name, part) for record in records for part in DECISION_PARTS if part not in record.read_text()]
    assert missing == []


@cache
def _text(page: Path) -> str:
    return page.read_text()


def _code(page: Path) -> Iterator[str]:
    for match in CODE.finditer(_text(page)):
        yield match["block"] if match["block"] is not None else match["span"]


@cache
def _sections(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def _spans(page: Path) -> Iterator[str]:
    for match in CODE.finditer(_text(page)):
        if match["span"] is not None:
            yield match["span"]


def _exists(name: str, page: Path) -> bool:
    """Return whether a path exists, relative to the repository, the package, or the page; ``<…>`` matches anything."""
    return any((start / name).exists() for start in (ROOT, PACKAGE, page.parent))


@cache
def _tocsin() -> Command:
    """Return the program with all commands; to build it takes longer than to look for all words of a page."""
    return get_command(app)


def _commands(command: Command, name: str) -> Iterator[str]:
    if not isinstance(command, TyperGroup):
        yield name
        return
    for word, inner in command.commands.items():
        yield from _commands(inner, f"{name} {word}")


def _unknown_words(words: list[str]) -> list[str]:
    """Return what of a call's words is no command and no option."""
    command = _tocsin()
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return words[:1]
        command, words = command.commands[words[0]], words[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options_used = [word.partition("=")[0].rstrip(".,;:") for word in words if word.startswith("--")]
    return [word for word in options_used if word not in options | {"--help", "--version", "--debug"}]
