"""Errors of Tocsin: one base class, and families by who must act.

Each class carries a stable ``code`` and its facts as attributes.
``server/http/errors.py`` maps families to HTTP statuses, ``cli`` to exit codes; nobody else knows either.
"""

from __future__ import annotations

from typing import ClassVar


class TocsinError(Exception):
    """An error occurred."""

    code: ClassVar[str] = "TOCSIN_ERROR"

    def __init__(self, message: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        super().__init__(self.message)

    def __reduce__(self) -> tuple[object, ...]:
        return (_revive, (type(self), self.message, self.__dict__))


def _revive(kind: type[TocsinError], message: str, facts: dict[str, object]) -> TocsinError:
    """Rebuild a pickled error without calling the subclass's own constructor."""
    error = kind.__new__(kind, message)
    Exception.__init__(error, message)
    error.__dict__.update(facts)
    return error


class InvalidInput(TocsinError):
    """The request is invalid; correct it and send it again."""

    code = "INVALID_INPUT"

    def __init__(self, message: str | None = None, *, field: str | None = None) -> None:
        self.field = field
        super().__init__(message)


class TooLarge(InvalidInput):
    """The request is too large."""

    code = "TOO_LARGE"


class InvalidCondition(InvalidInput):
    """The condition is invalid.

    ``line`` and ``column`` count from 1; ``expected`` names what could stand there.
    """

    code = "INVALID_CONDITION"

    def __init__(
        self,
        message: str | None = None,
        *,
        line: int = 1,
        column: int = 1,
        expected: tuple[str, ...] = (),
        suggestion: str | None = None,
    ) -> None:
        self.line, self.column, self.expected, self.suggestion = line, column, expected, suggestion
        super().__init__(message)

    def of_rule(self, name: str | None, field: str) -> InvalidCondition:
        """Return the same error with the field and, if it has one, the name of the rule."""
        message = f"{field}: Rule {name!r}: {self.message}" if name else f"{field}: {self.message}"
        facts = {"line": self.line, "column": self.column}
        error = InvalidCondition(message, **facts, expected=self.expected, suggestion=self.suggestion)
        error.field = field
        return error


class InvalidTemplate(InvalidInput):
    """The template is invalid, or exceeds a limit.

    ``line`` and ``column`` count from 1.
    """

    code = "INVALID_TEMPLATE"

    def __init__(self, message: str | None = None, *, line: int = 1, column: int = 1, field: str | None = None) -> None:
        self.line, self.column = line, column
        super().__init__(message, field=field)


class InvalidSetting(InvalidInput):
    """A setting has an invalid value."""

    code = "INVALID_SETTING"


class Unauthenticated(TocsinError):
    """Log in first: the token is missing, expired or unknown."""

    code = "UNAUTHENTICATED"


class Forbidden(TocsinError):
    """You may not do this."""

    code = "FORBIDDEN"


class NotFound(TocsinError):
    """Not found.

    ``entity_type`` and ``fqn`` say what was looked up, for suggestions of similar names.
    """

    code = "NOT_FOUND"

    def __init__(self, message: str | None = None, *, entity_type: str = "", fqn: str | None = None) -> None:
        self.entity_type, self.fqn = entity_type, fqn
        super().__init__(message)


class Conflict(TocsinError):
    """The change conflicts with the current state."""

    code = "CONFLICT"


class PreconditionFailed(Conflict):
    """The entity has changed since it was read; read it again and repeat the change."""

    code = "PRECONDITION_FAILED"


class Unavailable(TocsinError):
    """A required service is unavailable; try again later.

    ``retry_after_s`` is when to try again; None if waiting does not help.
    """

    code = "UNAVAILABLE"

    def __init__(self, message: str | None = None, *, retry_after_s: int | None = 5) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class TooManyRequests(Unavailable):
    """Too many requests; wait and try again."""

    code = "TOO_MANY_REQUESTS"

    def __init__(self, message: str | None = None, *, retry_after_s: int = 1) -> None:
        super().__init__(message, retry_after_s=retry_after_s)


class WrongKey(Unavailable):
    """The secrets were encrypted with another key: set `secrets_key` to that key, or send all secrets again."""

    code = "WRONG_KEY"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, retry_after_s=None)


class StoreDamaged(TocsinError):
    """The store lost data that it contained before; nothing is overwritten."""

    code = "STORE_DAMAGED"


class LogDiverged(StoreDamaged):
    """The log does not contain what was read from it: the store was restored, replaced or damaged."""

    code = "LOG_DIVERGED"


class WrongSealOfKeys(Unavailable):
    """The signing keys were encrypted with another key: set `secrets_key` to it, or run `tocsin admin renew-keys`."""

    code = "WRONG_SEAL_OF_KEYS"


class StaleSecrets(Unavailable):
    """The secrets belong to another address: save the alert again, with its secrets."""

    code = "STALE_SECRETS"


class MissingExtra(Unavailable):
    """An optional package is not installed."""

    code = "MISSING_EXTRA"

    def __init__(self, message: str | None = None, *, extra: str = "all") -> None:
        self.extra = extra
        super().__init__(
            message or f"An optional package is missing: pip install 'tocsin[{extra}]'", retry_after_s=None
        )


class InternalError(TocsinError):
    """Internal error; see the log."""

    code = "INTERNAL_ERROR"
