"""Settings: environment variables ``TOCSIN_*`` and a TOML file, each with a working default.

``docs/settings.md`` documents every one and a test keeps the two equal.
"""

from __future__ import annotations

import os
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from tocsin.embed_settings import EmbedSettings
from tocsin.job_settings import JobSettings
from tocsin.lake_settings import LakeSettings
from tocsin.push_settings import PushSettings
from tocsin.source_settings import SourceSettings

_MOST_PROCESSES = 4
_MOST_WORKER_PROCESSES = 8
_WITH_PORT = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<ipv4>[^:\[\]]+)):(?P<port>[0-9]{1,5})")


class AddressRange(NamedTuple):
    """A range of addresses, at one port or (None) at all of them."""

    network: IPv4Network | IPv6Network
    port: int | None = None


def address_range(text: str) -> AddressRange:
    """Return the range that a text means: ``10.0.0.0/8``, ``10.0.0.7:8080``, ``[::1]:8080``.

    Raises
    ------
    ValueError : it means none
    """
    with_port = _WITH_PORT.fullmatch(text)
    try:
        network = ip_network(text if with_port is None else with_port["ipv6"] or with_port["ipv4"])
    except ValueError:
        network = None
    port = int(with_port["port"]) if with_port else None
    if network is None or port == 0 or (port or 0) > 65_535:
        raise ValueError(f"{text!r} is not a range of addresses such as 10.0.0.0/8, 10.0.0.7:8080 or [::1]:8080")
    return AddressRange(network, port)


def _checked_range(text: str) -> str:
    address_range(text)
    return text


Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True)


class StoreSettings(_Group):
    """Where data and keys are, and how the database is used."""

    data_dir: Path = Field(Path("tocsin-data"), description="Folder for the SQLite file and checkpoints.")
    spark_checkpoint_dir: Path | None = Field(
        None, description="Folder for checkpoints, which executors reach too. Unset: `checkpoints` in `data_dir`."
    )
    database_url: str | None = Field(
        None, description="SQLAlchemy address of the store (`postgresql+psycopg://…`). Unset: SQLite in `data_dir`."
    )
    database_timeout_s: Positive = Field(
        30.0, description="Seconds to wait for an answer of PostgreSQL; then requests are answered 503."
    )
    secrets_key: SecretStr | None = Field(
        None,
        description="Key that seals secrets and signing keys; several separated by spaces, newest first. "
        "Unset: `secrets.key` in `data_dir`.",
    )
    sqlite_synchronous: Literal["FULL", "NORMAL"] = Field(
        "FULL", description="Sync mode of SQLite. `FULL` survives a power cut; `NORMAL` is faster and survives a crash."
    )

    def store_url(self) -> str:
        """Return the SQLAlchemy address of the store."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / 'tocsin.db'}"

    def checkpoint_dir(self) -> Path:
        """Return the folder where Spark keeps the pipeline's checkpoints."""
        return (self.spark_checkpoint_dir or self.data_dir / "checkpoints").absolute()

    def lake_socket(self) -> Path:
        """Return the Unix socket on which a running pipeline answers questions to the lake."""
        return self.data_dir.absolute() / "lake.sock"


class LogSettings(_Group):
    """What a process logs."""

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Minimum level: `debug`, `info`, `warning` or `error`."
    )
    log_format: Literal["console", "json"] = Field("console", description="`console` or `json`.")


class ServerSettings(_Group):
    """Where the server is, and as what it appears."""

    host: str = Field("127.0.0.1", description="Address the server listens on.")
    port: int = Field(8585, ge=0, le=65535, description="Port the server listens on.")
    processes: int | None = Field(None, ge=1, le=64, description="Server processes. Unset: one per core, at most four.")
    api_version: Literal["1.13.0", "2.0.0", "2.1.0"] = Field(
        "2.0.0",
        description="OpenMetadata version that `/system/version` states: `1.13.0`, `2.0.0` or `2.1.0`. OpenMetadata's "
        "client requires its own major and minor version.",
    )
    event_format: Literal["default", "seed", "openmetadata", "tocsin", "cloudEvents"] = Field(
        "default",
        description="Format of events for webhooks without a `payloadFormat`: `default`, `seed`, `openmetadata`, "
        "`tocsin` or `cloudEvents`.",
    )
    public_url: str | None = Field(None, description="Public address of the server, used in links.")

    def is_api_since(self, major: int) -> bool:
        """Return whether the version of OpenMetadata's API that the server states is this one or a later one."""
        return int(self.api_version.partition(".")[0]) >= major

    def process_count(self) -> int:
        """Return how many processes a server is made of."""
        return self.processes or min(_cores(), _MOST_PROCESSES)

    def base_url(self) -> str:
        """Return the address that links point to."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")


class CatalogueSettings(_Group):
    """Limits of what is written to the catalogue and read from it."""

    consolidate_minutes: NotNegative = Field(
        0.0,
        description="Minutes within which one person's edits of an entity share a version; events are never merged.",
    )
    most_patch_operations: Count = Field(10_000, description="Maximum operations of a JSON Patch.")
    largest_document: int = Field(
        8_388_608, ge=1_024, description="Maximum bytes of an entity as JSON, and of what the copies of one patch add."
    )
    events_per_person_per_hour: Count = Field(
        20_000, description="Maximum changes of one person per hour; administrators and bots: unlimited."
    )
    event_bytes_per_person_per_hour: Count = Field(
        1_073_741_824,
        description="Maximum bytes of changes of one person per hour; administrators and bots: unlimited.",
    )
    report_max_age_h: Positive = Field(
        168.0, description="Hours after which a reported test result or run is history and notifies nobody."
    )
    posts_per_hour: Count = Field(
        600,
        description="Maximum threads, posts and mentioned people of one person per hour; administrators "
        "and bots: unlimited.",
    )
    page_bytes: Count = Field(
        33_554_432, description="Maximum bytes of JSON per page; larger pages end early with a cursor."
    )


class LoginSettings(_Group):
    """How long a log-in lasts, and how failed ones are delayed."""

    token_hours: Positive = Field(24.0, description="Hours until a person's token expires.")
    session_hours: Positive = Field(168.0, description="Hours after which a person logs in again in a browser.")
    session_idle_hours: Positive = Field(24.0, description="Hours after which an unused session in a browser ends.")
    login_failures: Count = Field(5, description="Failed log-ins of an account after which further ones are delayed.")
    login_longest_delay_s: Positive = Field(
        30.0, description="Longest delay between two log-ins of an account; delays double up to it."
    )
    login_wait_s: Positive = Field(
        600.0, description="Seconds without failures after which failed log-ins are forgotten."
    )
    login_concurrency: Count = Field(4, description="Maximum password checks at once per process.")
    login_waiting: int = Field(100, ge=0, description="Maximum waiting log-ins per process; others are answered 429.")


class TrafficSettings(_Group):
    """Limits of requests, streams, connections and bodies."""

    requests_per_person: Count = Field(
        4,
        description="Maximum parallel requests of one person per process (administrators and bots: four "
        "times as many); further ones wait.",
    )
    requests_waiting_per_person: int = Field(
        200, ge=0, description="Maximum waiting requests of one person; further ones are answered 429."
    )
    streams_per_person: Count = Field(20, description="Maximum live streams of one person per server process.")
    streams: Count = Field(1_000, description="Maximum live streams per server process.")
    connections: int = Field(
        2_000, ge=10, description="Maximum connections per process; beyond, the longest idle one is closed."
    )
    connections_per_source: Count = Field(
        500, description="Maximum connections from one address or /64 network, except trusted proxies."
    )
    trusted_proxies: tuple[str, ...] = Field(
        ("127.0.0.1", "::1"), description="Addresses and CIDR ranges of proxies whose `X-Forwarded-For` is trusted."
    )
    header_timeout_s: Positive = Field(10.0, description="Seconds for the headers of a request to arrive.")
    header_bytes: int = Field(65_536, ge=1_024, description="Maximum bytes of request headers.")
    write_timeout_s: Positive = Field(
        60.0, description="Seconds to wait for a client to read its answer; then the connection is closed."
    )
    body_bytes_open: Count = Field(65_536, description="Maximum bytes of a body before log-in.")
    body_bytes: Count = Field(10_485_760, description="Maximum bytes of a body.")
    body_bytes_bulk: Count = Field(16_777_216, description="Maximum bytes of the body of a bulk request or import.")
    body_timeout_s: Positive = Field(60.0, description="Seconds for a body to arrive.")
    body_bytes_per_s: Count = Field(
        1_024, description="Minimum bytes of a body per second, after the first five seconds."
    )
    body_memory_bytes: Count = Field(
        268_435_456, description="Maximum bytes of all bodies that a process reads at once."
    )


class AccessSettings(_Group):
    """What is masked, and who logs in by OpenID Connect."""

    masked_tags: tuple[str, ...] = Field(
        ("PII.Sensitive",), description="Tags that mask sample values from all but owners and administrators."
    )
    oidc_issuer: str | None = Field(None, description="OpenID Connect issuer. Unset: passwords only.")
    oidc_client_id: str | None = Field(None, description="OpenID Connect client id.")
    oidc_client_secret: SecretStr | None = Field(None, description="OpenID Connect client secret, if required.")
    oidc_trust_email: bool = Field(
        False, description="Whether addresses of a provider that never sends `email_verified` count as verified."
    )
    oidc_create_users: bool = Field(True, description="Whether a first log-in creates a user.")


class PipelineSettings(_Group, JobSettings):
    """Spark, the streaming queries and the background jobs."""

    spark_master: str = Field("local[2]", description="Spark master of the pipeline.")
    spark_driver_memory: str = Field("1g", description="Heap of the Spark driver.")
    spark_conf: dict[str, str] = Field(default_factory=dict, description="Additional Spark settings, as JSON.")
    spark_py_files: str | None = Field(
        None, description="Wheel or zip of Tocsin that Spark ships to executors on other machines."
    )
    pipeline_max_events_per_batch: Count = Field(10_000, description="Maximum events per micro-batch.")
    pipeline_max_bytes_per_batch: Count = Field(
        32 * 2**20, description="Maximum bytes of events per micro-batch; one event is always read."
    )
    pipeline_max_event_age_h: Positive | None = Field(
        None, description="Hours after which an event notifies nobody any more. Unset: unlimited."
    )
    pipeline_events_per_partition: Count = Field(5_000, description="Events per Spark task.")
    pipeline_match_limit_s: Positive = Field(
        10.0, description="Seconds for matching a micro-batch; an alert that alone takes longer is disabled."
    )
    search_every_s: Positive = Field(1.0, description="Seconds between two updates of the search index.")
    check_asset_limit: Count = Field(5_000, description="Assets that a scheduled check names at each time.")

    def max_event_age_ms(self) -> int | None:
        """Return the age of an event, in milliseconds, beyond which it notifies nobody."""
        hours = self.pipeline_max_event_age_h
        return None if hours is None else int(hours * 3_600_000)


class WorkerSettings(_Group):
    """How a delivery worker claims and sends."""

    worker_claim_limit: Count = Field(384, description="Maximum messages a worker claims at once.")
    worker_lease_s: Positive = Field(90.0, description="Seconds until the claims of a worker without heartbeat expire.")
    worker_poll_s: Positive = Field(0.2, description="Seconds between two looks for due messages.")
    worker_processes: int | None = Field(
        None, ge=1, le=64, description="Most processes of a worker. Unset: one per core, at most eight."
    )
    destination_concurrency: Count = Field(8, description="Maximum parallel requests to one destination.")
    event_lag_limit: Count = Field(10_000, description="Unread events of a reader above which `EventLag` notifies.")
    event_lag_limits: dict[str, int] = Field({}, description="Limits of single readers, as JSON; 0: not watched.")
    event_lag_every_s: NotNegative = Field(10.0, description="Seconds between two measurements of lag; 0: never.")

    def worker_process_count(self) -> int:
        """Return of how many processes a worker is at most; each has a part of what a destination gets at once."""
        return min(self.worker_processes or min(_cores(), _MOST_WORKER_PROCESSES), self.destination_concurrency)


class AlertSettings(_Group):
    """Limits of the alerts of one person."""

    alerts_per_person: Count = Field(50, description="Maximum alerts created by one person; administrators: unlimited.")
    alerts_per_hour: Count = Field(
        60, description="Maximum alerts one person creates per hour; administrators: unlimited."
    )
    destinations_per_alert: Count = Field(20, description="Maximum destinations of an alert, except administrators'.")
    external_destinations_per_person: Count = Field(
        100, description="Maximum External destinations of all alerts created by one person."
    )
    receivers_per_destination: Count = Field(50, description="Maximum receivers of such a destination.")
    trial_messages_per_hour: Count = Field(20, description="Maximum test messages of one person per hour.")
    external_mail_domains: tuple[str, ...] = Field(
        (), description="Domains that all alerts may mail. Other external addresses must be added by an administrator."
    )


class ChannelSettings(_Group):
    """What messages leave through."""

    egress_allow: tuple[Annotated[str, AfterValidator(_checked_range)], ...] = Field(
        (), description="Private ranges webhooks may reach: `10.0.0.0/8`, `10.0.0.7:8080`, `[::1]:8080`."
    )
    slack_api_url: str = Field(
        "https://slack.com/api", description="Address of Slack's Web API, which bot tokens are sent to."
    )
    smtp_host: str | None = Field(None, description="Mail server. Unset: `tocsin up` starts a development receiver.")
    smtp_port: int = Field(25, ge=1, le=65535, description="Port of the mail server.")
    smtp_user: str | None = Field(None, description="User name at the mail server.")
    smtp_password: SecretStr | None = Field(None, description="Password at the mail server.")
    smtp_tls: Literal["none", "starttls", "tls"] = Field("none", description="Encryption: `none`, `starttls` or `tls`.")
    smtp_connections: int = Field(3, ge=1, le=100, description="Maximum connections of one worker to the mail server.")
    smtp_sender: str = Field("tocsin@localhost", description="Sender address.")


class RelaySettings(_Group):
    """The relay: which events leave for a broker, in what form, and where it is."""

    kafka_servers: str | None = Field(
        default=None, description="Kafka's brokers, `host:port,host:port`. Unset: no relay is started by `tocsin up`."
    )
    kafka_topic: str = Field(
        default="metadata-change-events", pattern=r"^[a-zA-Z0-9._-]{1,200}$", description="Topic of change events."
    )
    kafka_topic_per_entity_type: bool = Field(
        default=False, description="Whether each entity type has a topic of its own, `metadata-change-events.table`."
    )
    kafka_partitions: int | None = Field(
        default=None, ge=1, le=10_000, description="Partitions of topics that the relay makes. Unset: the broker's."
    )
    kafka_compression: Literal["gzip", "none"] = Field(
        default="gzip", description="Compression of records, `gzip` or `none`, which all consumers can read."
    )
    kafka_security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = Field(
        default="plaintext", description="Protocol: `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`."
    )
    kafka_ca_file: Path | None = Field(
        default=None,
        description="PEM file of the authorities that sign the brokers' certificates. Unset: the system's.",
    )
    kafka_certificate_file: Path | None = Field(default=None, description="PEM file of the relay's own certificate.")
    kafka_key_file: Path | None = Field(default=None, description="PEM file of the key of that certificate.")
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="SCRAM-SHA-512", description="SASL mechanism: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`."
    )
    kafka_user: str | None = Field(default=None, description="User name at the brokers.")
    kafka_password: SecretStr | None = Field(
        default=None,
        description="Password at the brokers. Unset: the one that `tocsin admin secret kafka_password` stored.",
    )
    pulsar_url: str | None = Field(
        default=None,
        pattern=r"^pulsar(\+ssl)?://[^/@\s]+$",
        description="Pulsar's brokers, `pulsar://host:6650` or `pulsar+ssl://host:6651`. In place of `kafka_servers`.",
    )
    pulsar_admin_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^/@\s]+$",
        description="Pulsar's administration, `http://host:8080`. Unset: lags of subscriptions are not measured.",
    )
    pulsar_namespace: str = Field(
        default="public/default",
        pattern=r"^[a-zA-Z0-9._=:-]+/[a-zA-Z0-9._=:-]+$",
        description="Tenant and namespace of all topics of the relay; it must have deduplication.",
    )
    pulsar_topic: str = Field(
        default="metadata-change-events", pattern=r"^[a-zA-Z0-9._-]{1,200}$", description="Topic of change events."
    )
    pulsar_topic_per_entity_type: bool = Field(
        default=False, description="Whether each entity type has a topic of its own, `metadata-change-events.table`."
    )
    pulsar_compression: Literal["zlib", "none"] = Field(
        default="none", description="Compression of messages, `zlib` or `none`, which all consumers can read."
    )
    pulsar_token: SecretStr | None = Field(
        default=None,
        description="Token at the brokers. Unset: the one that `tocsin admin secret pulsar_token` stored.",
    )
    pulsar_ca_file: Path | None = Field(
        default=None,
        description="PEM file of the authorities that sign the brokers' certificates. Unset: the system's.",
    )
    pulsar_certificate_file: Path | None = Field(default=None, description="PEM file of the relay's own certificate.")
    pulsar_key_file: Path | None = Field(default=None, description="PEM file of the key of that certificate.")
    relay_name: str = Field(
        default="tocsin-relay",
        pattern=r"^[a-zA-Z0-9._-]{1,100}$",
        description="Name of the relay at the broker; relays of one name take turns, and go on where the other ended.",
    )
    relay_reader: str = Field(default="relay-bot", description="Bot whose rights determine which events are written.")
    relay_lease_s: float = Field(
        default=20.0, gt=0, description="Seconds without a sign of life after which another relay takes over."
    )
    relay_format: Literal["default", "seed", "openmetadata", "tocsin", "cloudEvents"] = Field(
        default="seed",
        description="Format of events: `seed`, `default`, `openmetadata`, `tocsin` or `cloudEvents`.",
    )
    relay_event_types: tuple[str, ...] = Field(default=(), description="Event types to write. Empty: all.")
    relay_entity_types: tuple[str, ...] = Field(default=(), description="Entity types to write. Empty: all.")
    relay_max_event_bytes: int = Field(
        default=1_000_000, ge=65_536, le=100_000_000, description="Maximum bytes of an event with its entity."
    )


class IngestSettings(_Group):
    """Events of other systems: how many are taken, and from which topic."""

    ingest_events_per_minute: int = Field(
        default=60_000, ge=1_000, description="Maximum events of other systems per bot, minute and process."
    )
    ingest_topic: str | None = Field(
        default=None,
        pattern=r"^[a-zA-Z0-9._-]{1,200}$",
        description="Topic of `kafka_servers` with events of other systems. Unset: `tocsin up` reads none.",
    )
    ingest_group: str = Field(
        default="tocsin-ingest",
        pattern=r"^[a-zA-Z0-9._-]{1,100}$",
        description="Consumer group of the processes that read it.",
    )
    ingest_dead_letter_topic: str | None = Field(
        default=None,
        pattern=r"^[a-zA-Z0-9._-]{1,220}$",
        description="Topic of refused events. Unset: the name of the topic and `-dead-letters`.",
    )
    ingest_bot: str = Field(default="ingest-bot", description="Bot whose rights hold for the events of the topic.")
    ingest_keep_days: float = Field(
        default=30.0,
        gt=0,
        description="Days for which the id of an event is kept once a later one of its entity was applied.",
    )


class Settings(
    SourceSettings,
    IngestSettings,
    RelaySettings,
    ChannelSettings,
    AlertSettings,
    WorkerSettings,
    LakeSettings,
    PipelineSettings,
    PushSettings,
    EmbedSettings,
    AccessSettings,
    TrafficSettings,
    LoginSettings,
    CatalogueSettings,
    ServerSettings,
    LogSettings,
    StoreSettings,
    BaseSettings,
):
    """All settings of all processes. Environment wins over the TOML file, the file over the defaults.

    The bases are in reverse order: pydantic lists the fields of the last one first.
    """

    model_config = SettingsConfigDict(env_prefix="TOCSIN_", extra="forbid", toml_file="tocsin.toml", frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments first, then the environment, then the TOML file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def lake_root(self) -> str:
        """Return the folder of the lake, or the address of its bucket and prefix."""
        if self.lake_dir is not None and self.is_lake_in_bucket():
            return self.lake_dir.rstrip("/")
        return str(Path(self.lake_dir or self.data_dir / "lake").absolute())


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
