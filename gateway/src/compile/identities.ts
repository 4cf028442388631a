/** Consumers and credentials by what a request shows. */
import type { Consumer, Snapshot, SnapshotCredential, SnapshotRoute } from "@sluice/model";
import type { IdentityIndex } from "../runtime/runtime.ts";

export class Identities implements IdentityIndex {
  readonly #snapshot: Snapshot;
  readonly #now: () => number;
  /** One key may belong to several, each for namespaces of its own. */
  readonly #credentials: ReadonlyMap<string, readonly SnapshotCredential[]>;
  readonly #usernames: ReadonlyMap<string, Consumer>;

  /** Shares the indexes of the one before whose collections are the same. */
  constructor(before: Identities | null, snapshot: Snapshot, now: () => number) {
    this.#snapshot = snapshot;
    this.#now = now;
    const old = before === null ? null : before.#snapshot;
    this.#credentials =
      before && old?.keyauth_credentials === snapshot.keyauth_credentials
        ? before.#credentials
        : byHash(snapshot.keyauth_credentials.values());
    this.#usernames =
      before && old?.consumers === snapshot.consumers ? before.#usernames : byUsername(snapshot.consumers.values());
  }

  credential(keyHash: string, route: SnapshotRoute): SnapshotCredential | undefined {
    return this.#credentials
      .get(keyHash)
      ?.find((credential) => opens(credential, route) && !isExpired(credential, this.#now()));
  }

  consumer(idOrUsername: string): Consumer | undefined {
    return this.#snapshot.consumers.get(idOrUsername) ?? this.#usernames.get(idOrUsername);
  }
}

/** A credential without namespaces opens every route (house decision 3). */
function opens(credential: SnapshotCredential, route: SnapshotRoute): boolean {
  const { namespaces } = credential._sluice;
  const namespace = route._sluice?.namespace;
  return namespaces === undefined || (namespace !== undefined && namespaces.includes(namespace));
}

const isExpired = ({ ttl, created_at }: SnapshotCredential, now: number): boolean =>
  ttl !== null && (created_at + ttl) * 1000 <= now;

function byHash(credentials: Iterable<SnapshotCredential>): ReadonlyMap<string, readonly SnapshotCredential[]> {
  const index = new Map<string, SnapshotCredential[]>();
  for (const credential of credentials) {
    const others = index.get(credential._sluice.key_hash);
    if (others) others.push(credential);
    else index.set(credential._sluice.key_hash, [credential]);
  }
  return index;
}

function byUsername(consumers: Iterable<Consumer>): ReadonlyMap<string, Consumer> {
  const index = new Map<string, Consumer>();
  for (const consumer of consumers) {
    if (consumer.username !== null) index.set(consumer.username, consumer);
  }
  return index;
}
