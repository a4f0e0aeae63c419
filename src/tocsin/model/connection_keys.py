"""Names of the text properties in OpenMetadata's connections, classified as secret or not.

Extracted from OpenMetadata 1.13's schemas: everything reachable from the ``connection`` of services and test suites,
and from an ingestion pipeline's ``sourceConfig`` and ``openMetadataServerConnection``.
``tests/unit/model/test_connection_keys.py`` compares them with the schemas. Unlisted names count as secret.
Next: ``model/secret.py``.
"""

from __future__ import annotations

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
