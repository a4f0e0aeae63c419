"""Terminal output of ``tocsin up``: each process's log lines with name and colour, and a summary when all are ready."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

_COLOURS = {"server": "cyan", "pipeline": "magenta", "worker": "green", "dev receiver": "yellow", "up": "bold"}
_WIDTH = max(map(len, _COLOURS))


@dataclass(frozen=True)
class Login:
    """A person who can log in; ``password`` is None unless it was made just now."""

    name: str
    who: str
    email: str
    password: str | None


@dataclass(frozen=True)
class Welcome:
    """What a newcomer needs: the address, the logins, and where mails and webhooks can be seen.

    ``dev_receiver`` is None when a mail server is set, ``server`` when commands find the server by themselves,
    ``events`` (brokers and topic) when no broker is.
    """

    address: str
    logins: tuple[Login, ...]
    dev_receiver: str | None
    server: str | None = None
    events: str | None = None


class Screen:
    """The terminal, or a substitute for it."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._has_welcomed = False
        self._is_terminal = self._console.file.isatty()

    def say(self, part: str, line: str) -> None:
        """Show one line of one part."""
        prefix = Text(f"{part:<{_WIDTH}} │ ", style=_COLOURS.get(part, ""))
        self._console.print(prefix + Text.from_ansi(line), soft_wrap=True)

    def welcome(self, welcome: Welcome) -> None:
        """Show where to go and how to log in."""
        self._has_welcomed = True
        grid = Table.grid(padding=(0, 2))
        grid.add_row("Open", Text(welcome.address, style="bold cyan"))
        for login in welcome.logins:
            grid.add_row("Log in as", Text.assemble(login.email, (f"  {login.who}", "dim")))
            grid.add_row("", self._password(login))
        if welcome.dev_receiver:
            grid.add_row("Mails and webhooks", Text(welcome.dev_receiver, style="cyan"))
        if welcome.events:
            grid.add_row("Events at the broker", Text(welcome.events, style="cyan"))
        if welcome.server:
            grid.add_row("For the command line", Text(f"export TOCSIN_SERVER={welcome.server}"))
        grid.add_row("Stop", "Ctrl-C")
        self._console.print(Panel(grid, title="Tocsin is ready", expand=False))

    def farewell(self, welcome: Welcome) -> None:
        """Say that all parts have ended; passwords that nobody has seen yet are not lost."""
        for login in welcome.logins:
            if login.password and self._is_terminal and not self._has_welcomed:
                self.say("up", f"{login.email}, password {login.password}")
        self.say("up", "all processes have stopped")

    def _password(self, login: Login) -> Text:
        """Return how to log in; the password is omitted if the output is no terminal, because it may be stored."""
        if login.password and self._is_terminal:
            return Text.assemble("password ", (login.password, "bold"), ("  shown only once", "dim"))
        why = "is shown only on a terminal" if login.password else "was shown at the first start"
        return Text(f"the password {why}; to set a new one: tocsin admin reset-password {login.name}", style="dim")
