/** Indexes of consumers and credentials for authentication. */
import {
  BucketMap,
  byId,
  type Consumer,
  differences,
  emptySnapshot,
  hasExpired,
  type Snapshot,
  type SnapshotCredential,
  type SnapshotRoute,
} from "@sluice/model/serving";
import { GroupIndex } from "./group-index.ts";

interface Indexes {
  readonly snapshot: Pick<Snapshot, "consumers" | "keyauth_credentials">;
  /** By key hash. Several credentials may share a key if they have no namespace in common. */
  readonly credentials: GroupIndex<SnapshotCredential>;
  readonly usernames: GroupIndex<Consumer>;
}

const nothing: Indexes = {
  snapshot: emptySnapshot,
  // Key hashes are hex, so their first digits distribute well.
  credentials: new GroupIndex(({ _sluice }) => _sluice.key_hash, new BucketMap(byId)),
  usernames: new GroupIndex(({ username }) => username ?? undefined),
};

export class CompiledIdentities {
  readonly #indexes: Indexes;
  readonly #now: () => number;

  private constructor(indexes: Indexes, now: () => number) {
    this.#indexes = indexes;
    this.#now = now;
  }

  /** Shares unchanged indexes with the previous version. */
  static of(
    { consumers, keyauth_credentials }: Snapshot,
    { previous, now }: { readonly previous: CompiledIdentities | null; readonly now: () => number },
  ): CompiledIdentities {
    const { snapshot, credentials, usernames } = previous === null ? nothing : previous.#indexes;
    if (previous && snapshot.consumers === consumers && snapshot.keyauth_credentials === keyauth_credentials)
      return previous;
    return new CompiledIdentities(
      {
        snapshot: { consumers, keyauth_credentials },
        credentials: credentials.with(differences(snapshot.keyauth_credentials, keyauth_credentials)),
        usernames: usernames.with(differences(snapshot.consumers, consumers)),
      },
      now,
    );
  }

  /** The unexpired credential that opens the route and whose key has this SHA-256 (hex). */
  credential(keyHash: string, route: SnapshotRoute): SnapshotCredential | undefined {
    return this.#indexes.credentials
      .of(keyHash)
      .find((credential) => opens(credential, route) && !hasExpired(credential, this.#now()));
  }

  consumer(idOrUsername: string): Consumer | undefined {
    const { snapshot, usernames } = this.#indexes;
    return snapshot.consumers.get(idOrUsername) ?? usernames.of(idOrUsername)[0];
  }
}

/** A credential without namespaces is valid for every route; otherwise only for routes of its namespaces. */
function opens(credential: SnapshotCredential, route: SnapshotRoute): boolean {
  const { namespaces } = credential._sluice;
  const namespace = route._sluice?.namespace;
  return namespaces === undefined || (namespace !== undefined && namespaces.includes(namespace));
}
