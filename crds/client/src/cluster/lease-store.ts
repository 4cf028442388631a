/**
 * One Lease, written with the version that was read. For leader election it has a connection of its own, so that it never
 * waits behind watches and writes of thousands of resources.
 */
import { Conflict, type LeaseRecord, type LeaseStore, type VersionedLease } from "../resource.ts";
import { ApiServerError } from "./api/api-server-error.ts";
import { type Connection, createConnection } from "./api/connection.ts";
import { createCredentials, type KubeconfigOptions, loadKubeconfig } from "./api/credentials.ts";
import { microTime } from "./event-recorder.ts";
import { apiPath } from "./watch/lister-watcher.ts";

export interface LeaseStoreOptions extends KubeconfigOptions {
  readonly namespace: string;
  readonly name: string;
  /** Labels and annotations to set with every write. Default: none. */
  readonly marks?: { readonly labels: object; readonly annotations: object };
}

const apiVersion = "coordination.k8s.io/v1";
const leases = { apiVersion, plural: "leases" };

/** The members of a Lease that are read. */
interface LeaseObject {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
  };
}

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export function createLeaseStore({ namespace, name, marks, ...options }: LeaseStoreOptions): LeaseStore {
  const place = { namespace, name, ...(marks && { marks }) };
  return leaseStoreOver(createConnection(createCredentials(loadKubeconfig(options))), place);
}

export function leaseStoreOver(
  connection: Connection,
  { namespace, name, marks }: Pick<LeaseStoreOptions, "namespace" | "name" | "marks">,
): LeaseStore {
  const path = apiPath(leases, { namespace, name });
  return {
    async read(signal) {
      try {
        return versionedLease(await connection.call({ method: "GET", path, signal }));
      } catch (error) {
        if (error instanceof ApiServerError && error.isObjectAbsent) return null;
        throw error;
      }
    },
    async write(record, { before, signal }) {
      const spec = specOf(record, before);
      try {
        const answer = before
          ? await connection.call({
              method: "PATCH",
              path,
              contentType: "application/merge-patch+json",
              body: { metadata: { ...marks, resourceVersion: before.version }, spec },
              signal,
            })
          : await connection.call({
              method: "POST",
              path: apiPath(leases, { namespace }),
              body: { apiVersion, kind: "Lease", metadata: { ...marks, name, namespace }, spec },
              signal,
            });
        return versionedLease(answer);
      } catch (error) {
        // Another process was faster: it created, changed or removed the Lease.
        if (error instanceof ApiServerError && (error.code === 409 || error.isObjectAbsent))
          throw new Conflict("changed", error.message);
        throw error;
      }
    },
    close: () => connection.close(),
  };
}

function specOf({ holder, duration, transitions }: LeaseRecord, before: VersionedLease | null): object {
  const now = microTime(new Date());
  const changes = holder !== "" && holder !== before?.holder;
  return {
    holderIdentity: holder,
    leaseDurationSeconds: Math.max(1, Math.ceil(duration / 1000)),
    leaseTransitions: transitions,
    renewTime: now,
    ...(changes && { acquireTime: now }),
  };
}

function versionedLease(object: unknown): VersionedLease {
  const { metadata, spec = {} } = object as LeaseObject;
  return {
    version: metadata.resourceVersion,
    holder: spec.holderIdentity ?? "",
    duration: (spec.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec.leaseTransitions ?? 0,
  };
}
