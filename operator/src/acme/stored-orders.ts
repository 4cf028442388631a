/**
 * Orders of certificates, each in a Secret of the operator's private namespace: the state from which another operator
 * continues the order, and the answers to its challenges. They are not in the Certificate's namespace, because users
 * with the right to edit Secrets there could otherwise answer challenges for names of other namespaces, or finalize
 * another order of the account. All replicas watch the Secrets, so that their documents have the same challenges.
 */
import type { AcmeState } from "@sluice/acme";
import { ApiServerError, Conflict, type Ref, type Resource, type ResourceClient, versionOf } from "@sluice/crds";
import type { AcmeChallenge } from "@sluice/model";
import type { Logger } from "pino";
import { secretEntry } from "../certificates/certificate-secret.ts";
import { createEmitter, type Output } from "../emitter.ts";
import { CERTIFICATE_ANNOTATION } from "./certificate-secret.ts";

export interface StoredOrdersOptions {
  readonly client: Pick<ResourceClient, "watch" | "get" | "apply" | "remove">;
  /** The private namespace. */
  readonly namespace: string;
  /** The prefix of the Secrets' names, and the value of their label. Operators of different classes use different ones. */
  readonly prefix: string;
  readonly manager: string;
  readonly log: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
}

export interface StoredOrder {
  /** Null: nothing was stored. */
  readonly state: AcmeState | null;
  readonly challenges: readonly AcmeChallenge[];
}

export interface StoredOrders {
  /** The challenges to answer, by the id of the certificate. Certificates without challenges are absent. */
  challenges(): ReadonlyMap<string, readonly AcmeChallenge[]>;
  /** Emits when the challenges have changed, and when the Secrets were first read. */
  readonly changes: Output<void>;
  /** At the start, what was not read yet. */
  unsynced(): readonly string[];
  get(id: string): StoredOrder | undefined;
  /** The certificates with a stored order: the id of each, and the Certificate as namespace/name. */
  certificates(): readonly (readonly [id: string, key: string])[];
  /**
   * Replaces parts of a stored order, or stores a new one. Rejects with a Conflict when another operator has changed it.
   *
   * @param certificate The Certificate, as namespace/name, for the readers of the Secret.
   */
  put(id: string, part: Partial<StoredOrder>, certificate: string): Promise<void>;
  /** Deletes a stored order, if it exists. */
  remove(id: string): Promise<void>;
}

interface KnownOrder extends StoredOrder {
  readonly secret: Resource;
}

/** The label of the Secrets. */
export const ORDER_LABEL = "sluice.dev/acme-order";
const UNREAD = "certificate orders";
const NONE: readonly AcmeChallenge[] = [];

/** Whether repeating the read cannot succeed without another change, such as a missing permission. */
const isRefusal = (error: Error): boolean => error instanceof ApiServerError && [401, 403].includes(error.code);

export function createStoredOrders(options: StoredOrdersOptions): StoredOrders {
  const { client, namespace, prefix, manager, log, signal } = options;
  const nameOf = (id: string): string => `${prefix}-order-${id}`;
  const changes = createEmitter<void>();
  /** By the id of the certificate. */
  let known = new Map<string, KnownOrder>();
  let pending: ReadonlyMap<string, readonly AcmeChallenge[]> = new Map();
  let isSynced = false;

  const idOf = ({ metadata: { name } }: Resource): string => name.slice(nameOf("").length);

  function setKnown(id: string, order: KnownOrder | undefined): void {
    const before = known.get(id)?.challenges ?? NONE;
    if (order) known.set(id, isSameList(before, order.challenges) ? { ...order, challenges: before } : order);
    else known.delete(id);
    if ((known.get(id)?.challenges ?? NONE) !== before) challengesChanged();
  }

  function challengesChanged(): void {
    pending = new Map([...known].flatMap(([id, { challenges }]) => (challenges.length > 0 ? [[id, challenges]] : [])));
    changes.emit();
  }

  function settle(): void {
    isSynced = true;
    challengesChanged();
  }

  const observer = {
    replaced(secrets: readonly Resource[]) {
      const before = known;
      known = new Map(secrets.map((secret) => [idOf(secret), readOrder(secret)]));
      for (const [id, order] of known) {
        const same = before.get(id);
        if (same && isSameList(same.challenges, order.challenges))
          known.set(id, { ...order, challenges: same.challenges });
      }
      settle();
    },
    changed(secret: Resource) {
      const id = idOf(secret);
      const before = known.get(id)?.secret;
      // A version from before this operator's last write.
      if (before && isOlder(secret, before)) return;
      setKnown(id, readOrder(secret));
    },
    removed(secret: Resource) {
      const id = idOf(secret);
      if (known.get(id)?.secret.metadata.uid !== secret.metadata.uid) return;
      setKnown(id, undefined);
    },
    lost(error: Error) {
      log.warn({ reason: error.message }, `cannot read the stored ${UNREAD}, trying again`);
      // Without this permission, the operator orders nothing, but it publishes everything else.
      if (isRefusal(error) && !isSynced) settle();
    },
  };
  client.watch("Secret", observer, { namespace, labels: `${ORDER_LABEL}=${prefix}`, signal, bookkeeping: false });

  async function write(id: string, order: StoredOrder, certificate: string): Promise<void> {
    const { uid = "", resourceVersion = "" } = known.get(id)?.secret.metadata ?? {};
    const expect = known.has(id) ? { uid, resourceVersion } : ("absent" as const);
    const secret: Resource = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: nameOf(id),
        namespace,
        labels: { [ORDER_LABEL]: prefix },
        annotations: { [CERTIFICATE_ANNOTATION]: certificate },
      },
      type: "Opaque",
      data: { [entries.state]: encoded(order.state), [entries.challenges]: encoded(order.challenges) },
    };
    const written = await client.apply("Secret", secret, { manager, force: true, expect });
    setKnown(id, { ...order, secret: written });
  }

  /** After a Conflict: reads the present version, from which another attempt may start. */
  async function reread(id: string): Promise<void> {
    const ref: Ref = { kind: "Secret", namespace, name: nameOf(id) };
    const found = await client.get(ref);
    setKnown(id, found ? readOrder(found) : undefined);
  }

  return {
    challenges: () => pending,
    changes,
    unsynced: () => (isSynced ? [] : [UNREAD]),
    get: (id) => known.get(id),
    certificates: () =>
      Array.from(
        known,
        ([id, { secret }]) => [id, secret.metadata.annotations?.[CERTIFICATE_ANNOTATION] ?? ""] as const,
      ),
    async put(id, part, certificate) {
      const { state = null, challenges = NONE } = known.get(id) ?? {};
      try {
        await write(id, { state, challenges, ...part }, certificate);
      } catch (error) {
        if (error instanceof Conflict) await reread(id);
        throw error;
      }
    },
    async remove(id) {
      const { uid } = known.get(id)?.secret.metadata ?? {};
      await client.remove({ kind: "Secret", namespace, name: nameOf(id) }, uid === undefined ? {} : { uid });
      setKnown(id, undefined);
    },
  };
}

/** Versions in a directory have no order, but its watch reports only present versions. */
function isOlder(one: Resource, other: Resource): boolean {
  const [version, otherVersion] = [versionOf(one), versionOf(other)];
  const isOrdered = version !== undefined && otherVersion !== undefined;
  return one.metadata.uid === other.metadata.uid && isOrdered && version < otherVersion;
}

const entries = { state: "state.json", challenges: "challenges.json" } as const;

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");

/** A Secret that someone has damaged counts as empty: the certificate is ordered anew. */
function readOrder(secret: Resource): KnownOrder {
  const parse = (entry: string): unknown => {
    try {
      return JSON.parse(secretEntry(secret, entry));
    } catch {
      return null;
    }
  };
  const challenges = parse(entries.challenges);
  return {
    secret,
    state: parse(entries.state) as AcmeState | null,
    challenges: Array.isArray(challenges) && challenges.length > 0 ? (challenges as readonly AcmeChallenge[]) : NONE,
  };
}

const isSameList = (one: readonly AcmeChallenge[], other: readonly AcmeChallenge[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
