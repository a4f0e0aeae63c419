// The types of what Tocsin knows, as its API names their collections and as people call them.
export type EntityTypeWords = { collection: string; label: string };

export const entityTypes: Readonly<Record<string, EntityTypeWords>> = {
  databaseService: { collection: 'services/databaseServices', label: 'database service' },
  dashboardService: { collection: 'services/dashboardServices', label: 'dashboard service' },
  messagingService: { collection: 'services/messagingServices', label: 'messaging service' },
  pipelineService: { collection: 'services/pipelineServices', label: 'pipeline service' },
  mlmodelService: { collection: 'services/mlmodelServices', label: 'ML model service' },
  storageService: { collection: 'services/storageServices', label: 'storage service' },
  apiService: { collection: 'services/apiServices', label: 'API service' },
  searchService: { collection: 'services/searchServices', label: 'search service' },
  metadataService: { collection: 'services/metadataServices', label: 'metadata service' },
  ingestionPipeline: { collection: 'services/ingestionPipelines', label: 'ingestion pipeline' },
  database: { collection: 'databases', label: 'database' },
  databaseSchema: { collection: 'databaseSchemas', label: 'schema' },
  table: { collection: 'tables', label: 'table' },
  storedProcedure: { collection: 'storedProcedures', label: 'stored procedure' },
  query: { collection: 'queries', label: 'query' },
  dashboard: { collection: 'dashboards', label: 'dashboard' },
  chart: { collection: 'charts', label: 'chart' },
  report: { collection: 'reports', label: 'report' },
  dashboardDataModel: { collection: 'dashboard/datamodels', label: 'data model' },
  topic: { collection: 'topics', label: 'topic' },
  pipeline: { collection: 'pipelines', label: 'pipeline' },
  mlmodel: { collection: 'mlmodels', label: 'ML model' },
  container: { collection: 'containers', label: 'container' },
  searchIndex: { collection: 'searchIndexes', label: 'search index' },
  apiCollection: { collection: 'apiCollections', label: 'API collection' },
  apiEndpoint: { collection: 'apiEndpoints', label: 'API endpoint' },
  metric: { collection: 'metrics', label: 'metric' },
  glossary: { collection: 'glossaries', label: 'glossary' },
  glossaryTerm: { collection: 'glossaryTerms', label: 'glossary term' },
  classification: { collection: 'classifications', label: 'classification' },
  tag: { collection: 'tags', label: 'tag' },
  domain: { collection: 'domains', label: 'domain' },
  dataProduct: { collection: 'dataProducts', label: 'data product' },
  type: { collection: 'metadata/types', label: 'type' },
  user: { collection: 'users', label: 'person' },
  team: { collection: 'teams', label: 'team' },
  role: { collection: 'roles', label: 'role' },
  policy: { collection: 'policies', label: 'policy' },
  bot: { collection: 'bots', label: 'bot' },
  testDefinition: { collection: 'dataQuality/testDefinitions', label: 'test definition' },
  testSuite: { collection: 'dataQuality/testSuites', label: 'test suite' },
  testCase: { collection: 'dataQuality/testCases', label: 'test' },
  eventsubscription: { collection: 'events/subscriptions', label: 'alert' },
  notificationTemplate: { collection: 'notificationTemplates', label: 'notification template' },
};

/** Return the collection of a type in the API: `tables` of `table`; undefined for a type that has none. */
export const collectionOf = (type: string | null | undefined): string | undefined =>
  entityTypes[type ?? '']?.collection;

/** Return the type whose collection this is. */
export const typeOfCollection = (collection: string): string | undefined =>
  Object.keys(entityTypes).find((type) => entityTypes[type]!.collection === collection);

/** Return what people call a type: `ML model` of `mlmodel`. */
export const labelOf = (type: string | null | undefined): string =>
  entityTypes[type ?? '']?.label ?? type ?? '';

/** What an alert can be about, as choices. */
export const resourceChoices: readonly { value: string; label: string }[] = [
  { value: 'all', label: 'anything' },
  ...Object.entries(entityTypes).map(([value, { label }]) => ({ value, label })),
];

/** Return what people call several of a type: `tables` of `table`, `people` of `user`. */
export function pluralOf(type: string): string {
  const label = labelOf(type);
  if (type === 'user') return 'people';
  if (label.endsWith('x')) return `${label}es`;
  return label.endsWith('y') ? `${label.slice(0, -1)}ies` : `${label}s`;
}

/** Return the address of the page of an asset, an alert or a person. */
export function addressOf(type: string, fullName: string): string {
  if (type === 'eventsubscription') return `/alerts/${encodeURIComponent(fullName)}`;
  return `/${type}/${encodeURIComponent(fullName)}`;
}
