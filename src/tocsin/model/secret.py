"""Classification of secrets in connections, and masked documents for people who may not edit them.

A text is shown if OpenMetadata's schemas define its name and do not mark it as a password
(``TEXTS``); everything else, and every value of a map with free keys, is secret. Of an address the
user information and the query are. Next: ``flow/capture/secrets.py``; for alerts ``delivery/channels/masking.py``.
"""

from __future__ import annotations

import re
from typing import Any

from tocsin.model.address import MASK, has_scheme, kept_url, masked_url, origin_of, without_masks
from tocsin.model.entity import Document
from tocsin.model.entity_type import words

PASSWORDS = words(
    "accessToken accessTokenPassword apiKey apiSecret awsSecretAccessKey azureClientSecret basicAuthUserInfo "
    "botToken caCertValue caCertificate clientCertValue clientSecret consumerSecret dbtCloudAuthToken jwt jwtToken "
    "password personalAccessToken personalAccessTokenSecret privateKey privateKeyPassphrase privateKeyValue "
    "proxyAuthentication saslPassword secretToken securityToken snowflakePrivatekeyPassphrase sslCertificate sslKey "
    "token userToken "
)
"""Texts that a schema calls ``format: password``, wherever else they occur."""

TEXTS = words(
    "SQLTemplate account accountId accountName accountUsageSchema alationTagClassificationName apiHost apiKeyId "
    "apiURL apiVersion appName appliedAt appliedBy applyToChildren args assumeRoleArn assumeRoleSessionName "
    "assumeRoleSourceIdentity audience auth authMechanism authOptions authProvider authProviderX509CertUrl authType "
    "authUri authentication authorityURI authorityUri awsAccessKeyId awsAccountId awsRegion awsSessionToken "
    "azureClientId azureTenantId billingCycleStart billingProjectId biqCustomerName biqSdzName biqSystemWalletId "
    "bootstrapServers branch brokersUrl bucket bucketName bucketNames caCertPath caCerts catalog catalogId "
    "certificateAuthorityPath classificationLanguage classificationName clidriverVersion clientCertPath "
    "clientCertificate clientCertificatePath clientEmail clientId clientKeyCertificate clientX509CertUrl "
    "clientkeyPath cloudProvider cluster clusterName collateURL color command configFilePaths configPath "
    "connectionOptions consoleEndpointURL consoleUrl consumerGroupName consumerKey consumerOffsets containerName "
    "credentialSource crossDatabaseServiceNames customProperties dataPlane dataTablesCustomFilter database "
    "databaseMode databaseName databaseSchema databaseServiceName dataflowsCustomFilter datasourceLinks "
    "dbServiceNames dbServicePrefixes dbtBucketName dbtCatalogFilePath dbtCatalogHttpPath dbtClassificationName "
    "dbtCloudAccountId dbtCloudJobId dbtCloudProjectId dbtCloudUrl dbtConfigType dbtManifestFilePath "
    "dbtManifestHttpPath dbtObjectPrefix dbtRunResultsFilePath dbtRunResultsHttpPath dbtSourcesFilePath "
    "dbtSourcesHttpPath default defaultManifest delegatedEmail deployment description discoveryAPI discoveryMethod "
    "displayName displayUrl docURL driveId driver driverName endDate endPointURL entities entityFullyQualifiedName "
    "entityLink entity_type env environmentId environmentIds excludes externalType extraHeaders factory_name "
    "fhirServerUrl fhirVersion filePathPattern filter filterCondition filterJsonTree filterQueryParam "
    "fullyQualifiedName gitCredentials gitHostURL host hostPort hostport href httpConnection httpPath iconURL id "
    "identityType impersonateServiceAccount includes ingestionRunner instanceDomain instantClientDirectory "
    "jdbcDriverClassPath jobIds kerberosServiceName keyfile labelType labels license licenseFileName localFilePath "
    "location logdata loginMode logmech manifestFilePath manifestHttpPath messagingServiceName metadataAttribute "
    "metastoreDb metastoreFilePath metastoreHostPort metrics mwaaEnvironmentName name namespace "
    "namespaceToServiceMapping newDescription objectPrefix openAPISchemaFilePath openAPISchemaS3URL "
    "openAPISchemaURL oracleServiceName oracleTNSConnection orgId organizationId packageConnection path "
    "pbitFileConfigType pbitFilesExtractDir personalAccessTokenName pinotControllerHost position prefix "
    "previousDescription privateKeyId privateKeyPath profileName profileSampleType projectId projectIds projectName "
    "projectUUID propagationDepthMode propagationFilterMode protocol provider proxies proxyURL queryFilter "
    "queryHistoryTable queryLogFilePath queryStatementSource queryTag realmName reason recognizerId recognizerName "
    "redashVersion regex region regionName registryUri registryUrl remote reportsCustomFilter repositoryName "
    "repositoryOwner resource_group_name role rootCertificate rootDirectories runMode s3StagingDir "
    "salesforceApiVersion salesforceDomain samplingMethodType saslMechanism saslUsername "
    "schemaRegistryTopicSuffixName schemaRegistryURL scheme scope scopes searchIndexMappingLanguage "
    "secretsManagerLoader secretsManagerProvider secureConnectBundle securityProtocol serverHost serverName service "
    "serviceName serviceType signingSecret siteName siteUrl snowflakeSourceHost sobjectNames source "
    "sourcePythonClass spaceTypes spaceUUID sslMode stageFileLocation stagingDir startDate state "
    "storageServiceNames streamName subjectTokenType subscription_id table tagFQN target taxonomyLocation "
    "taxonomyProjectID tempPath tenantId testCaseDefinitions testCases testDefinition tls tmode tokenType tokenURL "
    "tokenUri topicName trackingUri transport type uiHostPort url usageLocation userDirectory userId userKey "
    "username value vaultName verify verifySSL waiiInstance warehouse webPortalVirtualDirectory workgroup "
    "workspaceId workspaceName "
)
"""All other texts."""


CONNECTIONS = ("connection", "sourceConfig", "openMetadataServerConnection")
"""Keys of documents below which a person says how to connect."""

PROFILE, SUBSCRIPTION = "profile", "subscription"
"""Keys of people and teams below which their own addresses of chats and webhooks are."""

DESTINATIONS = "destinations"
_FREE_CONFIG = "config"
"""Key of alerts under which OpenMetadata's server finds what it likes; nothing says what of it is secret."""

PARTS = frozenset({*CONNECTIONS, DESTINATIONS})
SEALED = PARTS | {PROFILE}
"""Keys of documents below which values are masked."""

MODEL_ADDRESS = "server"
"""Key of the address of a model, which may hold its login: no message and no reason repeats it."""

PARTS_WITH_SECRETS = PARTS | {_FREE_CONFIG, MODEL_ADDRESS}
"""Keys of documents below which no message says what changed: a secret may stand next to it."""

_ADDRESSES_OF_PEOPLE = words("endpoint tokenUrl")
_SECRETS_OF_PEOPLE = words("clientSecret secretKey")
_DESCRIPTIONS = ("changeDescription", "incrementalChangeDescription")

FREE_MAPS = words(
    "appPrivateConfig connectionArguments connectionOptions consumerConfig credentialSource env extraConfig "
    "extraHeaders headers proxies queryParams schemaRegistryConfig"
)
"""Maps whose keys are free: nobody knows which of them are secret."""

_SECRET_ANYWAY = words(
    "args auth authOptions awsAccessKeyId awsSessionToken clientCertificate clientKeyCertificate command consumerKey "
    "keyfile license rootCertificate signingSecret userKey value"
)
"""Texts that no schema calls a password, and that hold one all the same."""

_PLAIN = TEXTS - _SECRET_ANYWAY
_ADDRESS = re.compile(r"host|ur[li]$|url$|server|endpoint|broker|domain|bootstrap|registry|proxy|tns|connection$", re.I)
_ASSIGNMENT = re.compile(r"(pwd|pass|secret|token|key|sig|credential)\w*\s*=", re.I)
Steps = tuple[str, ...]
Value = Any  # Any: a JSON value of whatever document


def is_free(steps: Steps) -> bool:
    """Return whether a value is in a map with free keys."""
    return any(step in FREE_MAPS for step in steps[:-1])


def is_secret(steps: Steps) -> bool:
    """Return whether the text at this place, below a connection or a profile, is secret as a whole."""
    if steps[0] == PROFILE:
        return is_of_subscription(steps) and (is_free(steps) or _name(steps) in _SECRETS_OF_PEOPLE)
    return is_free(steps) or _name(steps) not in _PLAIN


def is_of_subscription(steps: Steps) -> bool:
    """Return whether a value is part of the own addresses of a person or team."""
    return steps[:2] == (PROFILE, SUBSCRIPTION)


def is_password(steps: Steps) -> bool:
    """Return whether the schema calls the text at this path a password, whose existence is no secret."""
    return not is_free(steps) and _name(steps) in PASSWORDS


def shown_text(steps: Steps, text: str) -> str:
    """Return what may be shown of a text that is no secret as a whole: an address without its login and query.

    Anyone who knows the address of a chat's webhook can post there, so tokens in its path are secret as well.
    """
    if steps[0] == PROFILE:
        is_address = is_of_subscription(steps) and _name(steps) in _ADDRESSES_OF_PEOPLE
        return masked_url(text, with_path=True) if is_address else text
    if has_scheme(text):
        return masked_url(text, with_path=False)
    if _ASSIGNMENT.search(text):
        return MASK
    if not _ADDRESS.search(_name(steps)):
        return text
    login, at, place = text.rpartition("@")
    separator = re.search(r"[?;#=&]", place)
    return (f"{MASK}@" if at and login else "") + (place[: separator.start() + 1] + MASK if separator else place)


def kept_text(steps: Steps, masked: str, stored: object) -> str | None:
    """Return the text that ``masked``, which contains masks, was made of; None if it is not ``stored``."""
    if not isinstance(stored, str):
        return None
    is_same = shown_text(steps, stored) == masked
    return stored if is_same else kept_url(masked, stored, with_path=steps[0] == PROFILE)


def normalize_address(text: str) -> object:
    """Return an address in its one spelling, so that two that lead to the same place are equal."""
    address = text if has_scheme(text) else f"any://{text}"
    origin = origin_of(address)
    return text if origin is None else (origin, address.partition("://")[2].partition("/")[2])


def without_secrets(document: Document) -> Document:
    """Return a document for people who may not edit it: hidden values are removed, not masked.

    The mask of a password in the schema stays, as every connection of that type has one. Of an alert, ``config`` is
    removed as a whole.
    """
    open_keys = document.keys() - ({_FREE_CONFIG} if DESTINATIONS in document else set())
    visible = {
        key: _value_without(value, (key,)) if key in SEALED else value
        for key, value in document.items()
        if key in open_keys
    }
    return visible | {key: change_without_secrets(visible[key]) for key in _DESCRIPTIONS if visible.get(key)}


def change_without_secrets(change: Document) -> Document:
    """Return a change description for people who may not edit its entity."""
    return {
        key: [_field_without(one) for one in value] if isinstance(value, list) else value
        for key, value in change.items()
    }


def _field_without(change: Document) -> Document:
    field = change["name"].partition(".")[0]
    if field == _FREE_CONFIG:
        return {"name": change["name"]}
    if field not in SEALED:
        return change
    steps = tuple(change["name"].split("."))
    values = {key: _value_without(change[key], steps) for key in ("oldValue", "newValue") if key in change}
    return change | {key: None if value is _GONE else value for key, value in values.items()}


_GONE = object()


def _value_without(value: Value, steps: Steps) -> Value:
    if isinstance(value, dict):
        return _map_without(value, steps)
    if isinstance(value, list):
        inner = [_value_without(one, steps) for one in value]
        return [one for one in inner if one is not _GONE]
    if not isinstance(value, str) or MASK not in value:
        return value
    if value == MASK:
        is_known = steps[0] != DESTINATIONS and is_password(steps)
        return value if is_known else _GONE
    return without_masks(value) or _GONE


def _map_without(value: Document, steps: Steps) -> Value:
    inner = {key: _value_without(held, (*steps, key)) for key, held in value.items()}
    visible = {key: held for key, held in inner.items() if held is not _GONE}
    has_lost = len(visible) < len(inner)
    is_hollow = not visible or (steps[0] == DESTINATIONS and visible.keys() <= {"type"})
    return _GONE if has_lost and is_hollow and len(steps) > 1 else visible


def _name(steps: Steps) -> str:
    return next((step for step in reversed(steps) if not step.isdigit()), "")
