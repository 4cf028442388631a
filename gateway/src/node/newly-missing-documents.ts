/** Finds the plugins whose GraphQL documents do not exist: most of them answer 503, and clients get no reason. */
import {
  bucketDifferences,
  type MissingDocuments,
  missingDocumentsText,
  missingGraphqlDocuments,
  type Snapshot,
  type SnapshotPlugin,
} from "@sluice/model/serving";

export interface NewlyMissingDocuments {
  /** The id of the plugin. */
  readonly plugin: string;
  readonly text: string;
}

/** The plugins that newly miss documents: because they changed, or because documents were removed. */
export function* newlyMissingDocuments(previous: Snapshot, now: Snapshot): Generator<NewlyMissingDocuments> {
  const missingBefore = missingIn(previous);
  const missingNow = missingIn(now);
  for (const { before, after } of plugins(previous, now)) {
    if (after === undefined) continue;
    const missing = missingNow(after);
    if (missing === null) continue;
    const text = missingDocumentsText(missing);
    const known = before && missingBefore(before);
    if (known && missingDocumentsText(known) === text) continue;
    yield { plugin: after.id, text };
  }
}

/** The plugins to compare: the changed ones, or all if documents changed. */
function plugins(previous: Snapshot, now: Snapshot) {
  if (bucketDifferences(previous.graphql_documents, now.graphql_documents).length === 0)
    return bucketDifferences(previous.plugins, now.plugins);
  return [...now.plugins.values()].map((after) => ({ before: previous.plugins.get(after.id), after }));
}

function missingIn({ graphql_documents: documents }: Snapshot): (plugin: SnapshotPlugin) => MissingDocuments | null {
  /** Created for the first plugin that names documents. */
  let names: ReadonlySet<string> | undefined;
  const exists = (nameOrId: string): boolean => {
    names ??= new Set([...documents.values()].flatMap(({ id, name }) => [id, name]));
    return names.has(nameOrId);
  };
  return (plugin) => (plugin.enabled ? missingGraphqlDocuments(plugin, exists) : null);
}
