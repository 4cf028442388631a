/** Indexes of consumers and credentials for authentication. */
import {
  BucketMap,
  bucketDifferences,
  type Consumer,
  type CredentialCollection,
  credentialCollections,
  emptySnapshot,
  entities,
  hasExpired,
  hashOfId,
  isSecretLookup,
  lookupHash,
  type Snapshot,
  type SnapshotCredential,
  type SnapshotRoute,
} from "@sluice/model/serving";
import type { CredentialPlugin, PluginIdentity, RecordSchema } from "@sluice/plugin-sdk";
import { GroupIndex } from "./group-index.ts";

type PerCredential<Value> = Readonly<Record<CredentialCollection, Value>>;

interface Indexes {
  readonly snapshot: Pick<Snapshot, "consumers" | CredentialCollection>;
  /**
   * By the keys that `emptyIndex` defines. Several credentials may have the same key: for example, those of the same
   * consumer, or those that have no namespace in common.
   */
  readonly credentials: PerCredential<GroupIndex<SnapshotCredential>>;
  readonly usernames: GroupIndex<Consumer>;
}

/**
 * An index of a collection's credentials: by the hash of the lookup member if this member is secret, else by the lookup
 * member itself; if the collection has no lookup member, by the consumer's id.
 */
function emptyIndex(collection: CredentialCollection): GroupIndex<SnapshotCredential> {
  const lookup = entities[collection].credential?.lookup ?? null;
  if (lookup === null) return new GroupIndex(({ consumer }) => consumer.id, new BucketMap(hashOfId));
  // Hashes are hex, so their first digits distribute well.
  if (isSecretLookup(collection)) return new GroupIndex(({ _sluice }) => _sluice?.key_hash, new BucketMap(hashOfId));
  return new GroupIndex((credential) => String(credential[lookup as keyof SnapshotCredential]));
}

const perCredential = <Value>(make: (collection: CredentialCollection) => Value): PerCredential<Value> =>
  Object.fromEntries(credentialCollections.map((collection) => [collection, make(collection)])) as PerCredential<Value>;

const nothing: Indexes = {
  snapshot: emptySnapshot,
  credentials: perCredential(emptyIndex),
  usernames: new GroupIndex(({ username }) => username ?? undefined),
};

const noCustomIds = new GroupIndex<Consumer>(({ custom_id }) => custom_id ?? undefined);

export class CompiledIdentities {
  readonly #indexes: Indexes;
  readonly #now: () => number;
  /** Built at the first lookup, because most nodes have no plugin that looks up consumers by `custom_id`. */
  #customIds: GroupIndex<Consumer> | null = null;

  private constructor(indexes: Indexes, now: () => number) {
    this.#indexes = indexes;
    this.#now = now;
  }

  /** Shares unchanged indexes with the previous object. */
  static of(
    snapshot: Snapshot,
    { previous, now }: { readonly previous: CompiledIdentities | null; readonly now: () => number },
  ): CompiledIdentities {
    const before = previous === null ? nothing : previous.#indexes;
    const isSame = (collection: "consumers" | CredentialCollection) =>
      snapshot[collection] === before.snapshot[collection];
    if (previous && isSame("consumers") && credentialCollections.every(isSame)) return previous;
    const { consumers } = snapshot;
    const consumerChanges = bucketDifferences(before.snapshot.consumers, consumers);
    const identities = new CompiledIdentities(
      {
        snapshot: { consumers, ...perCredential((collection) => snapshot[collection]) } as Indexes["snapshot"],
        credentials: perCredential((collection) =>
          before.credentials[collection].with(
            bucketDifferences<SnapshotCredential>(before.snapshot[collection], snapshot[collection]),
          ),
        ),
        usernames: before.usernames.with(consumerChanges),
      },
      now,
    );
    const customIds = previous === null ? null : previous.#customIds;
    identities.#customIds = customIds === null ? null : customIds.with(consumerChanges);
    return identities;
  }

  /** The unexpired credential that is valid for the route and has this lookup value (for a secret, its SHA-256). */
  credential<Name extends CredentialCollection>(
    collection: Name,
    value: string,
    route: SnapshotRoute,
  ): SnapshotCredential<Name> | undefined {
    const found = this.#indexes.credentials[collection]
      .of(value)
      .find((credential) => this.#isUsable(credential, route));
    // The index of a collection contains only credentials of that collection.
    return found as SnapshotCredential<Name> | undefined;
  }

  /** Why the credential with this lookup value is not valid for the route; null: there is none, or it is valid. */
  whyInvalid(collection: CredentialCollection, value: string, route: SnapshotRoute): string | null {
    const found = this.#indexes.credentials[collection].of(value);
    const [first] = found;
    if (first === undefined || found.some((credential) => this.#isUsable(credential, route))) return null;
    const { unavailable } = found.find((credential) => isInNamespaceOf(credential, route))?._sluice ?? {};
    if (unavailable !== undefined) return `the credential is invalid: ${unavailable}`;
    if (found.some((credential) => isInNamespaceOf(credential, route))) return "the credential has expired";
    const { name, namespace } = this.#ownerOf(first);
    const routes = route._sluice?.namespace;
    const belongs = `the credential belongs to the consumer ${name}`;
    if (routes === undefined) return `${belongs} of the namespace ${namespace}, and this route has no namespace`;
    return (
      `${belongs}, which routes of the namespace ${routes} do not accept: ` +
      `create a ReferenceGrant in the namespace ${routes} from Consumer of the namespace ${namespace} to Route`
    );
  }

  #ownerOf({ consumer: { id }, _sluice }: SnapshotCredential) {
    const { username = null, custom_id = null } = this.#indexes.snapshot.consumers.get(id) ?? {};
    // The first is the namespace of the consumer; the others have a ReferenceGrant.
    const [namespace = ""] = _sluice?.namespaces ?? [];
    return { name: username ?? custom_id ?? id, namespace };
  }

  /** Like `credential`, but all such credentials: in some collections, several may have the same lookup value. */
  credentials<Name extends CredentialCollection>(
    collection: Name,
    value: string,
    route: SnapshotRoute,
  ): readonly SnapshotCredential<Name>[] {
    const found = this.#indexes.credentials[collection].of(value);
    return found.filter((credential) => this.#isUsable(credential, route)) as SnapshotCredential<Name>[];
  }

  /** The plugin's unexpired credential with this key that is valid for the route, and the credential's consumer. */
  pluginIdentity<Schema extends RecordSchema>(
    { name }: CredentialPlugin<Schema>,
    key: string,
    route: SnapshotRoute,
  ): PluginIdentity<Schema> | undefined {
    const credential = this.credential("plugin_credentials", lookupHash(key, name), route);
    const consumer = credential && this.#indexes.snapshot.consumers.get(credential.consumer.id);
    // The credential's config was validated by the credential schema that the plugin declares.
    return consumer && ({ consumer, credential } as unknown as PluginIdentity<Schema>);
  }

  /** The unexpired credential that is valid for the route and has this id. */
  credentialById(id: string, route: SnapshotRoute): SnapshotCredential | undefined {
    for (const collection of credentialCollections) {
      const credential: SnapshotCredential | undefined = this.#indexes.snapshot[collection].get(id);
      if (credential === undefined) continue;
      return this.#isUsable(credential, route) ? credential : undefined;
    }
    return undefined;
  }

  #isUsable(credential: SnapshotCredential, route: SnapshotRoute): boolean {
    return isValidFor(credential, route) && !this.#hasExpired(credential);
  }

  /** The clock is read only for a credential with a lifetime, which few have. */
  #hasExpired(credential: Parameters<typeof hasExpired>[0]): boolean {
    return credential.ttl != null && hasExpired(credential, this.#now());
  }

  /** The ACL groups of a consumer. Returns the same list until the consumer's ACL groups change. */
  acls(consumerId: string): readonly SnapshotCredential<"acls">[] {
    return this.#indexes.credentials.acls.of(consumerId) as readonly SnapshotCredential<"acls">[];
  }

  /** The memberships in consumer groups, by consumer. The same object until a membership changes. */
  get memberships(): GroupIndex<SnapshotCredential<"consumer_group_consumers">> {
    return this.#indexes.credentials.consumer_group_consumers as GroupIndex<
      SnapshotCredential<"consumer_group_consumers">
    >;
  }

  consumer(idOrUsername: string): Consumer | undefined {
    const { snapshot, usernames } = this.#indexes;
    return snapshot.consumers.get(idOrUsername) ?? usernames.of(idOrUsername)[0];
  }

  consumerByCustomId(customId: string): Consumer | undefined {
    this.#customIds ??= noCustomIds.with(bucketDifferences(emptySnapshot.consumers, this.#indexes.snapshot.consumers));
    return this.#customIds.of(customId)[0];
  }
}

/**
 * A credential with namespaces is valid only for routes of these namespaces, and other credentials for every route. A
 * credential that its plugin refuses is valid for no route.
 */
const isValidFor = (credential: SnapshotCredential, route: SnapshotRoute): boolean =>
  credential._sluice?.unavailable === undefined && isInNamespaceOf(credential, route);

function isInNamespaceOf({ _sluice }: SnapshotCredential, route: SnapshotRoute): boolean {
  const namespaces = _sluice?.namespaces;
  const namespace = route._sluice?.namespace;
  return namespaces === undefined || (namespace !== undefined && namespaces.includes(namespace));
}
