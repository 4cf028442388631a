/** Cluster states for tests: resources by kind and `namespace/name`, each a second younger than the one before. */

import type { Kind, Resource } from "@sluice/crds";
import { apiVersion } from "@sluice/model";
import { type ClusterState, watchedKinds } from "../watch/cluster-state.ts";

export interface TestClusterState {
  readonly clusterState: ClusterState;
  /** Creates or replaces a resource. A custom resource gets the next generation; other kinds have none. */
  put(kind: Kind, name: string, members: Partial<Resource>): Resource;
  remove(kind: Kind, name: string): void;
}

/** The members of a ReferenceGrant that allows these references. The default group is `sluice.dev`. */
export const grantBetween = (
  from: readonly { readonly kind: string; readonly namespace: string }[],
  to: readonly { readonly group?: string; readonly kind: string; readonly name?: string }[],
): Partial<Resource> => ({
  spec: {
    from: from.map((side) => ({ group: "sluice.dev", ...side })),
    to: to.map((side) => ({ group: "sluice.dev", ...side })),
  },
});

/** @param name `name` (of the namespace default) or `namespace/name`. */
const keyFor = (name: string): string => (name.includes("/") ? name : `default/${name}`);

const coreVersions: Partial<Record<Kind, string>> = {
  Secret: "v1",
  CoreService: "v1",
  EndpointSlice: "discovery.k8s.io/v1",
  ReferenceGrant: "gateway.networking.k8s.io/v1beta1",
};

export function testClusterState(): TestClusterState {
  const clusterState = Object.fromEntries(watchedKinds.map((kind) => [kind, new Map()])) as unknown as Record<
    Kind,
    Map<string, Resource>
  >;
  let births = 0;
  return {
    clusterState,
    put(kind, name, members) {
      const key = keyFor(name);
      const before = clusterState[kind].get(key);
      const [namespace = "", short = ""] = key.split("/");
      births++;
      const { metadata } = members;
      const resource: Resource = {
        apiVersion: coreVersions[kind] ?? apiVersion,
        kind: kind === "CoreService" ? "Service" : kind,
        ...members,
        metadata: {
          uid: before?.metadata.uid ?? `uid ${births}`,
          creationTimestamp:
            before?.metadata.creationTimestamp ?? new Date(Date.UTC(2026, 0, 1) + births * 1000).toISOString(),
          resourceVersion: `${births}`,
          ...(coreVersions[kind] ? {} : { generation: (before?.metadata.generation ?? 0) + 1 }),
          ...metadata,
          namespace,
          name: short,
        },
      };
      clusterState[kind].set(key, resource);
      return resource;
    },
    remove(kind, name) {
      clusterState[kind].delete(keyFor(name));
    },
  };
}

export const secretWithKey = (key: string): Partial<Resource> => ({
  metadata: { name: "", namespace: "", labels: { "sluice.dev/credential": "" } },
  data: { key: Buffer.from(key).toString("base64") },
});
