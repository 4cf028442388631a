/** Reads and writes one Lease; a write fails unless the Lease has the version that was read. */
import { Conflict, type LeaseRecord, type LeaseStore, type VersionedLease } from "../resource.ts";
import { type ClusterConnection, connectToCluster } from "./api/connection.ts";
import type { KubeconfigOptions } from "./api/credentials.ts";
import { apiPath, createObject, findObject, patchObject } from "./api/objects.ts";
import { microTime } from "./event-recorder.ts";

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

/**
 * A store with its own connection, so that leader election never waits behind watches and writes of thousands of
 * resources.
 *
 * @throws KubeconfigError when the kubeconfig cannot be read.
 */
export function createLeaseStore({ namespace, name, marks, ...options }: LeaseStoreOptions): LeaseStore {
  return leaseStoreOver(connectToCluster(options), { namespace, name, marks });
}

export function leaseStoreOver(
  connection: ClusterConnection,
  { namespace, name, marks }: Pick<LeaseStoreOptions, "namespace" | "name" | "marks">,
): LeaseStore {
  const path = apiPath(leases, { namespace, name });
  return {
    async read(signal) {
      const lease = await findObject<LeaseObject>(connection, path, signal);
      return lease && versionedLease(lease);
    },
    async write(record, { before, signal }) {
      const spec = specOf(record, before);
      if (before) {
        const metadata = { ...marks, resourceVersion: before.version };
        return versionedLease(await patchObject<LeaseObject>(connection, path, { metadata, spec, signal }));
      }
      const made = await createObject<LeaseObject>(connection, apiPath(leases, { namespace }), {
        apiVersion,
        kind: "Lease",
        metadata: { ...marks, name, namespace },
        spec,
        signal,
      });
      if (!made) throw new Conflict("exists", `the Lease ${namespace}/${name} already exists`);
      return versionedLease(made);
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

function versionedLease({ metadata, spec = {} }: LeaseObject): VersionedLease {
  return {
    version: metadata.resourceVersion,
    holder: spec.holderIdentity ?? "",
    duration: (spec.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec.leaseTransitions ?? 0,
  };
}
