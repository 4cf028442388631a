/** Waits until the watches have seen the writes of others. */
import { type Resource, type ResourceClient, reflectsWrite, resourceKey } from "@sluice/crds";
import { CREDENTIAL_LABEL, TLS_SECRET_TYPE, type WrittenResource } from "@sluice/model";
import { throwUnavailable } from "../apply/write-faults.ts";
import type { ViewedKind } from "./build-view.ts";
import type { LiveResources } from "./live-resources.ts";

/** Whether versions are increasing numbers: a directory's versions have no order. */
export const hasOrderedVersion = ({ resourceVersion = "" }: Pick<WrittenResource, "resourceVersion">): boolean =>
  /^\d+$/.test(resourceVersion);

/** Lists all resources; returns the condition that `resources` has caught up with them. */
export async function caughtUpCondition(
  client: ResourceClient,
  {
    resources,
    namespaces,
    homeNamespace,
  }: Pick<LiveResources, "resources" | "namespaces"> & { readonly homeNamespace: string },
): Promise<() => boolean> {
  const kinds = Object.keys(resources) as ViewedKind[];
  const known = new Map(kinds.map((kind) => [kind, new Set(resources[kind].keys())]));
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const found =
        kind === "Secret" ? await listSecrets(client, homeNamespace) : await listOurs(client, kind, namespaces);
      const there = new Map(found.map((resource) => [resourceKey(resource), resource]));
      const gone = [...(known.get(kind) ?? [])].filter((key) => !there.has(key));
      return { kind, there, gone };
    }),
  ).catch(throwUnavailable);
  const isThere = (kind: ViewedKind, [key, { metadata }]: readonly [string, Resource]) => {
    const { generation, ...version } = { kind, ...metadata };
    // Batch annotations do not change the generation; but versions in a directory have no order.
    return reflectsWrite(resources[kind].get(key), {
      ...version,
      ...(!hasOrderedVersion(version) && generation && { generation }),
    });
  };
  return () =>
    lists.every(
      ({ kind, there, gone }) =>
        [...there].every((one) => isThere(kind, one)) && gone.every((key) => !resources[kind].has(key)),
    );
}

async function listOurs(client: ResourceClient, kind: ViewedKind, namespaces: readonly string[]) {
  if (namespaces.length === 0) return client.list(kind);
  return (await Promise.all(namespaces.map((namespace) => client.list(kind, { namespace })))).flat();
}

/** Only the Secrets that `createResourceCache` watches. */
async function listSecrets(client: ResourceClient, namespace: string): Promise<readonly Resource[]> {
  const selections = [{ labels: CREDENTIAL_LABEL }, { fields: `type=${TLS_SECRET_TYPE}` }];
  const lists = selections.map((selection) => client.list("Secret", { namespace, ...selection }));
  return (await Promise.all(lists)).flat();
}
