/** Whose credentials a sample request has. Plans do not know credentials: nodes store only hashes of most of them. */
import {
  type CredentialCollection,
  credentialCollections,
  entities,
  referencedId,
  type Snapshot,
  type SnapshotPlugin,
} from "@sluice/model";
import type { AuthenticatedIdentity, ExchangeConsumer } from "@sluice/plugin-sdk";

/** A consumer of the store, or null: a sample consumer that has every kind of credentials, and no groups. */
export interface SampleIdentity {
  readonly consumer: { readonly id: string; readonly name: string } | null;
}

/** The name of the sample consumer in plans. */
export const SAMPLE_CONSUMER = "sample";

const SAMPLE_ID = "00000000-0000-4000-8000-000000000000";
const sampleConsumer: ExchangeConsumer = { id: SAMPLE_ID, username: SAMPLE_CONSUMER, custom_id: null, tags: null };
const sampleIdentity: AuthenticatedIdentity = {
  consumer: sampleConsumer,
  credential: { id: SAMPLE_ID, consumer: { id: SAMPLE_ID } },
};

const collectionByPlugin: ReadonlyMap<string, CredentialCollection> = new Map(
  credentialCollections.map((collection) => [entities[collection].credential?.segments.nested ?? "", collection]),
);

/** Whether the plugin identifies consumers by credentials that are entities. */
export const identifiesConsumers = (plugin: Pick<SnapshotPlugin, "name">): boolean =>
  collectionByPlugin.has(plugin.name);

/** The identity that the plugin finds in a request with the consumer's credentials; null: it finds none. */
export function identityIn(
  snapshot: Snapshot,
  plugin: Pick<SnapshotPlugin, "name">,
  { consumer: wanted }: SampleIdentity,
): AuthenticatedIdentity | null {
  const collection = collectionByPlugin.get(plugin.name);
  if (collection === undefined) return null;
  if (wanted === null) return sampleIdentity;
  const consumer = snapshot.consumers.get(wanted.id);
  if (consumer === undefined) return null;
  for (const credential of snapshot[collection].values())
    if (ownerOf(credential) === wanted.id)
      return { consumer, credential: { ...credential, consumer: { id: wanted.id } } };
  return null;
}

/** Ids of the consumers that have credentials. */
export const ownersOfCredentials = (snapshot: Snapshot): readonly string[] =>
  credentialCollections.flatMap((collection) =>
    [...snapshot[collection].values()].flatMap((each) => ownerOf(each) ?? []),
  );

const ownerOf = (credential: object): string | undefined => referencedId(credential, "consumer");
