/** Caches the resources of a client in memory, and waits for conditions on them. */

import {
  createResourceCache,
  type Kind,
  type Log,
  namespacedName,
  type Resource,
  type ResourceClient,
  reflectsWrite,
  resourceKey,
  trackClasses,
} from "@sluice/crds";
import {
  CREDENTIAL_LABEL,
  type ResourceKind,
  resourceKinds,
  TLS_SECRET_TYPE,
  type WrittenResource,
} from "@sluice/model";
import { throwUnavailable } from "../apply/write-faults.ts";
import type { Resources, ViewedKind } from "./build-view.ts";

export interface LiveResources {
  readonly resources: Resources;
  /** The namespaces of custom resources that are read; all when empty. */
  readonly namespaces: readonly string[];
  /** If resource versions are increasing numbers, `resources` contains the writes of this client immediately. */
  readonly client: ResourceClient;
  classOf(resource: Resource): string;
  /** Kinds that have not been read yet, or that the cluster no longer serves. */
  unsynced(): readonly string[];
  /** Why the last reads failed; empty without a problem. Resources that were read before remain. */
  failures(): readonly string[];
  /** Resolves to true once the condition holds, to false after the timeout in milliseconds or when the watches end. */
  until(condition: () => boolean, timeout: number): Promise<boolean>;
}

export interface LiveResourcesOptions {
  readonly client: ResourceClient;
  readonly homeNamespace: string;
  /** The namespaces to read in addition to the home namespace; all when empty. */
  readonly namespaces: readonly string[];
  readonly class: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called for every resource (`namespace/name`) that was changed or removed, or whose class may have changed. */
  readonly onResource: (kind: ViewedKind, key: string) => void;
}

/**
 * Watches the custom resources, and those Secrets of the home namespace that are labelled for Sluice or have the type
 * kubernetes.io/tls. The admin listener has no permission to read Secrets of other namespaces.
 */
export function followResources(options: LiveResourcesOptions): LiveResources {
  const { client, homeNamespace, log, signal, onResource } = options;
  const namespaces = options.namespaces.length > 0 ? [...new Set([homeNamespace, ...options.namespaces])] : [];
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const checkCondition of [...waiting]) checkCondition();
  };
  const shared = { client, signal, log, onChange: changed, onResource };
  const ours = createResourceCache({ ...shared, kinds: resourceKinds, namespaces });
  const secrets = createResourceCache({ ...shared, kinds: ["Secret"] as const, namespaces: [homeNamespace] });
  // Each property returns the current map of its cache, which the cache may replace.
  const resources = Object.defineProperties(
    {},
    Object.fromEntries([
      ...resourceKinds.map((kind) => [kind, { enumerable: true, get: () => ours.resources[kind] }] as const),
      ["Secret", { enumerable: true, get: () => secrets.resources.Secret }],
    ]),
  ) as Resources;
  const classes = trackClasses({
    client,
    own: { class: options.class, namespace: homeNamespace },
    namespaces,
    signal,
    log,
    onChange(moved) {
      const places = new Set(moved);
      for (const kind of resourceKinds)
        for (const [key, { metadata }] of ours.resources[kind])
          if (places.has(metadata.namespace)) onResource(kind, key);
      changed();
    },
  });

  function recordWrite(kind: Kind, resource: Resource, { removed = false } = {}): void {
    if (kind === "Secret") {
      if (resource.metadata.namespace === homeNamespace) secrets.recordWrite(kind, resource, { removed });
    } else if (isOurs(kind)) ours.recordWrite(kind, resource, { removed });
  }

  return {
    resources,
    namespaces,
    client: {
      ...client,
      async apply(kind, resource, options) {
        const written = await client.apply(kind, resource, options);
        recordWrite(kind, written);
        return written;
      },
      async remove(ref, options = {}) {
        const { kind, namespace, name } = ref;
        const before =
          isOurs(kind) || kind === "Secret" ? resources[kind].get(namespacedName(namespace, name)) : undefined;
        const removed = await client.remove(ref, options);
        if (before && before.metadata.uid === (options.uid ?? before.metadata.uid))
          recordWrite(kind, before, { removed: true });
        return removed;
      },
    },
    classOf: (resource) => classes.classOf(resource),
    unsynced: () => [...ours.unsynced(), ...secrets.unsynced(), ...(classes.isSynced() ? [] : ["Lease"])],
    failures: () => [...new Set([...ours.failures(), ...secrets.failures(), ...[classes.failure() ?? []].flat()])],
    async until(condition, timeout) {
      if (condition()) return true;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const checkCondition = (): void => {
        if (condition()) resolve(true);
      };
      const stop = () => resolve(false);
      const timer = setTimeout(stop, signal.aborted ? 0 : timeout);
      signal.addEventListener("abort", stop);
      waiting.add(checkCondition);
      const held = await promise;
      clearTimeout(timer);
      waiting.delete(checkCondition);
      signal.removeEventListener("abort", stop);
      return held;
    },
  };
}

const isOurs = (kind: Kind): kind is ResourceKind => resourceKinds.some((one) => one === kind);

/** Whether the resource version is an increasing number, as in a cluster but not in a directory. */
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
    // Batch annotations do not change the generation, so resource versions are compared. In a directory they are not
    // increasing numbers, so there the generation is compared instead.
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

/** Lists only the Secrets that `createResourceCache` watches. */
async function listSecrets(client: ResourceClient, namespace: string): Promise<readonly Resource[]> {
  const selections = [{ labels: CREDENTIAL_LABEL }, { fields: `type=${TLS_SECRET_TYPE}` }];
  const lists = selections.map((selection) => client.list("Secret", { namespace, ...selection }));
  return (await Promise.all(lists)).flat();
}
