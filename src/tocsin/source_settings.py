"""Settings of sources of metadata, a group of those in ``settings.py``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class SourceSettings(BaseModel):
    """Sources of metadata: an OpenMetadata server that is mirrored, and dbt projects."""

    model_config = ConfigDict(frozen=True)

    openmetadata_url: str | None = Field(
        default=None, description="Address of the OpenMetadata server to mirror, `https://openmetadata.example.com`."
    )
    openmetadata_token: SecretStr | None = Field(
        default=None,
        description="Token of a bot there. Unset: the one that `tocsin admin secret openmetadata_token` stored.",
    )
    openmetadata_mapped: tuple[str, ...] = Field(
        default=(),
        description="FQNs, such as names of services, below which Tocsin's own policies decide; `*`: all;"
        " `glossary:sales`: only what has that type and name. The rest of the mirror is for administrators only.",
    )
    openmetadata_people: bool = Field(
        default=False, description="Whether people and teams that Tocsin lacks are mirrored, without any rights."
    )
    openmetadata_interval_s: float = Field(
        default=30.0, ge=1, description="Seconds between two runs of `tocsin source openmetadata --keep-running`."
    )
    openmetadata_reconcile_h: float = Field(
        default=24.0, ge=0.1, description="Hours after which all lists are compared again, beside the events."
    )
    dbt_authorization: SecretStr | None = Field(
        default=None,
        description="`Authorization` header for the files of a dbt project that are fetched, such as `Token abc`."
        " Unset: the one that `tocsin admin secret dbt_authorization` stored.",
    )
