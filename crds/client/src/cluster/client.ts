/** Resource client for a cluster, through its API server. */
import { setTimeout as sleep } from "node:timers/promises";
import { mergeConditions } from "../conditions.ts";
import { kindNames } from "../kinds.ts";
import type { Log } from "../log.ts";
import {
  type ApplyStatusOptions,
  Conflict,
  type Kind,
  type Ref,
  type Resource,
  type ResourceClient,
} from "../resource.ts";
import { ApiServerError, type ApiStatus, writeErrorOf } from "./api/api-server-error.ts";
import { type ClusterConnection, type ConnectionOptions, connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";
import { apiPath, findObject } from "./api/objects.ts";
import { trimObject } from "./api/trim-object.ts";
import { recordEvent } from "./event-recorder.ts";
import { createLeaseMutex, type LeaseMutex } from "./lease-mutex.ts";
import { leaseStoreOver } from "./lease-store.ts";
import { ownedConditions } from "./owned-conditions.ts";
import { createListerWatcher, rethrowUnknownKind } from "./watch/lister-watcher.ts";
import { type Clock, listAll, runReflector } from "./watch/reflector.ts";

export interface ClusterClientOptions extends KubeconfigOptions, ConnectionOptions {
  readonly log: Log;
}

/** Throws when the kubeconfig cannot be read. An unreachable API server is not an error: watches wait for it. */
export function createClusterClient(options: ClusterClientOptions): ResourceClient {
  return clusterClientOver(connectToCluster(options), { log: options.log, clock: systemClock });
}

const systemClock: Clock = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => undefined),
};

/**
 * Milliseconds. An object with finalizers is deleted when their controllers are done; `remove` rejects if that takes
 * longer.
 */
const removalTimeout = 30_000;

/** etcd starts at revision 1, so its first write makes version 2: an apply with version 1 can only create. */
const NONEXISTENT_VERSION = "1";

export function clusterClientOver(
  connection: ClusterConnection,
  { log, clock }: { log: Log; clock: Clock },
): ResourceClient {
  const closing = new AbortController();
  const followed = new Set<Promise<void>>();
  const mutexes = new Map<string, LeaseMutex>();
  let watching = new AbortController();

  async function get(ref: Ref, signal?: AbortSignal): Promise<Resource | null> {
    const path = apiPath(kindNames[ref.kind], ref);
    const object = await findObject<Resource>(connection, path, signal).catch(rethrowUnknownKind(ref.kind));
    return object && trimObject(ref.kind, object);
  }

  async function applyStatus(
    ref: Ref,
    status: Resource["status"],
    { manager, uid, resourceVersion, signal }: ApplyStatusOptions,
  ): Promise<void> {
    const { apiVersion, kind } = kindNames[ref.kind];
    const { namespace, name } = ref;
    try {
      await connection.call({
        method: "PATCH",
        path: `${apiPath(kindNames[ref.kind], ref)}/status`,
        query: { fieldManager: manager, force: true },
        contentType: "application/apply-patch+yaml",
        // The uid keeps the write from reaching a new object of the same name.
        body: { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status },
        signal,
      });
    } catch (error) {
      const refusal = writeErrorOf(error, undefined);
      const isAbsent = error instanceof ApiServerError && error.isObjectAbsent;
      if (isAbsent || (refusal instanceof Conflict && refusal.reason === "changed")) return;
      throw refusal;
    }
  }

  return {
    get: (ref) => get(ref),

    async list(kind, options = {}) {
      return (await listAll(createListerWatcher(connection, kind, options), closing.signal)).items;
    },

    watch(kind, observer, { signal, ...selection }) {
      const reflected = runReflector({
        kind,
        listerWatcher: createListerWatcher(connection, kind, selection),
        clock,
        observer,
        log,
        signal: AbortSignal.any([signal, closing.signal]),
        reconnect: () => watching.signal,
      }).finally(() => followed.delete(reflected));
      followed.add(reflected);
    },

    placeOf: () => null,

    rewatch() {
      watching.abort();
      watching = new AbortController();
    },

    async apply(kind, resource, { manager, expect: expected, force, managedFields }) {
      const { namespace, name } = resource.metadata;
      let expect = expected;
      try {
        if (managedFields && typeof expect === "object") {
          const taken = (await connection.call({
            method: "PATCH",
            path: apiPath(kindNames[kind], { namespace, name }),
            query: { fieldManager: manager },
            contentType: "application/merge-patch+json",
            body: { metadata: { ...expect, managedFields } },
          })) as Partial<Resource>;
          expect = { ...expect, resourceVersion: taken.metadata?.resourceVersion ?? "" };
        }
        const object = await connection.call({
          method: "PATCH",
          path: apiPath(kindNames[kind], { namespace, name }),
          query: { fieldManager: manager, force },
          contentType: "application/apply-patch+yaml",
          body: applyBody(kind, resource, expect === "absent" ? { resourceVersion: NONEXISTENT_VERSION } : expect),
        });
        return trimObject(kind, object as Partial<Resource>);
      } catch (error) {
        throw writeErrorOf(error, expect);
      }
    },

    async remove(ref, { uid } = {}) {
      try {
        const answer = (await connection.call({
          method: "DELETE",
          path: apiPath(kindNames[ref.kind], ref),
          body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background", preconditions: { uid } },
        })) as Partial<Resource> & ApiStatus;
        // A Status means that the object is deleted. Otherwise the object is returned and waits for its finalizers.
        if (answer.kind !== "Status") await waitUntilGone(ref, answer.metadata?.uid);
        return true;
      } catch (error) {
        if (error instanceof ApiServerError && error.isObjectAbsent) return false;
        throw writeErrorOf(error, undefined);
      }
    },

    async setConditions(ref, conditions, { manager, read, signal }) {
      const resource = read ?? (await get(ref, signal));
      if (!resource) return;
      const merged = mergeConditions(resource.status?.conditions ?? [], conditions, new Date());
      if (!merged) return;
      // An apply removes fields that its manager owns and the body lacks; it leaves the fields of other managers alone.
      const kept = read ? [] : ownedConditions(resource, manager);
      const ours = new Set([...kept, ...conditions.map(({ type }) => type)]);
      const status = { conditions: merged.filter(({ type }) => ours.has(type)) };
      await applyStatus(ref, status, { manager, uid: resource.metadata.uid, signal });
    },

    applyStatus,

    async recordEvent(ref, event) {
      try {
        await recordEvent(connection, { ref, uid: (await get(ref))?.metadata.uid }, event);
      } catch (error) {
        throw writeErrorOf(error, undefined);
      }
    },

    withMutex({ namespace, name }, run) {
      const key = `${namespace}/${name}`;
      const taken =
        mutexes.get(key) ??
        createLeaseMutex({ store: leaseStoreOver(connection, { namespace, name }), name: key, clock });
      mutexes.set(key, taken);
      return taken.run(run);
    },

    async close() {
      await Promise.all([...mutexes.values()].map((one) => one.close()));
      closing.abort();
      await Promise.all(followed);
      await connection.close();
    },
  };

  async function waitUntilGone(ref: Ref, uid: string | undefined): Promise<void> {
    const until = clock.now() + removalTimeout;
    for (let wait = 50; ; wait = Math.min(wait * 2, 1000)) {
      const resource = await get(ref);
      if (!resource || resource.metadata.uid !== uid) return;
      if (clock.now() >= until || closing.signal.aborted)
        throw new Error(
          `${ref.kind} ${ref.namespace}/${ref.name} waits for its finalizers: ${resource.metadata.finalizers}`,
        );
      await clock.sleep(wait, closing.signal);
    }
  }
}

/** The members that a manager may apply: all except the status and the metadata that the API server sets itself. */
function applyBody(kind: Kind, resource: Resource, expected: { uid?: string; resourceVersion?: string } = {}): object {
  const { status: _, metadata, ...members } = resource;
  const { name, namespace, labels, annotations, ownerReferences } = metadata;
  const { apiVersion, kind: named } = kindNames[kind];
  const applied = { name, namespace, labels, annotations, ownerReferences, ...expected };
  return { ...members, apiVersion, kind: named, metadata: applied };
}
