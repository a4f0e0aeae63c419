"""Settings of the lake, a group of those in ``settings.py``: its place, its Delta log, and queries of it by the API."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

_S3 = "s3://"
_BUCKET = re.compile(rf"{_S3}[a-z0-9][a-z0-9.-]{{1,61}}[a-z0-9](?:/[A-Za-z0-9._=/-]*)?")


def _checked_lake(text: str) -> str:
    """Return the place of a lake; of addresses, only those of S3 are one."""
    if "://" in text and not _BUCKET.fullmatch(text):
        raise ValueError(f"{text!r} is neither a folder nor an address such as s3://bucket/prefix")
    return text


class LakeSettings(BaseModel):
    """The lake: a folder, or a bucket of S3."""

    model_config = ConfigDict(frozen=True)

    lake_dir: Annotated[str, BeforeValidator(str), AfterValidator(_checked_lake)] | None = Field(
        None,
        description="Lake: a folder that executors reach too, or `s3://bucket/prefix`. Unset: `lake` in `data_dir`.",
    )
    lake_s3_endpoint: str | None = Field(
        None, pattern=r"^https?://[^/@\s]+/?$", description="Address of an S3 server, `https://host:port`. Unset: AWS."
    )
    lake_s3_region: str | None = Field(
        None, description="Region of the bucket. Unset: that of the account or machine (AWS)."
    )
    lake_s3_key_id: str | None = Field(
        None, description="Access key id at S3. Unset: the credentials of the account or machine (AWS)."
    )
    lake_s3_secret_key: SecretStr | None = Field(
        None, description="Its secret key. Unset: the one that `tocsin admin secret lake_s3_secret_key` stored."
    )
    lake_s3_ca_file: Path | None = Field(
        None, description="PEM file of the authorities that sign its certificate. Unset: the system's."
    )
    lake_delta_days: int | None = Field(
        None,
        ge=1,
        le=3_650,
        description="Days for which earlier versions of the lake's Delta table can be read. Unset: no Delta table.",
    )
    lake_every_s: float = Field(3600.0, ge=0, description="Seconds between two updates of the lake; 0: never.")
    lake_query_rows: int = Field(10_000, ge=1, description="Maximum rows of an answer to a query by the API.")
    lake_query_bytes: int = Field(8_388_608, ge=1, description="Maximum bytes of such an answer, as JSON.")
    lake_query_seconds: float = Field(60.0, gt=0, description="Maximum seconds of such a query.")
    lake_query_memory: str = Field("1g", description="Heap of the process that answers such queries.")
    lake_query_disk_bytes: int = Field(
        4_294_967_296, ge=1, description="Maximum bytes of temporary files of such a query on this machine."
    )
    lake_query_idle_s: float = Field(600.0, gt=0, description="Seconds without queries after which that process ends.")
    lake_queries_per_person: int = Field(3, ge=1, description="Maximum open queries of one person.")
    lake_answer_minutes: int = Field(15, ge=1, description="Minutes for which an answer can be read.")
    lake_query_days: int = Field(90, ge=1, description="Days for which queries are listed, with their senders.")

    def is_lake_in_bucket(self) -> bool:
        """Return whether the lake is in a bucket, not in a folder."""
        return (self.lake_dir or "").startswith(_S3)
