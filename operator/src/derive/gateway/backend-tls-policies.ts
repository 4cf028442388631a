/**
 * Which BackendTLSPolicy applies to each port of a core Service. Of several policies for one target, the oldest
 * applies; a policy that names the port takes precedence over one that names only the Service.
 */
import {
  type BackendTlsFacts,
  type BackendTlsTarget,
  compareByAge,
  type DerivedBackendTls,
  deriveBackendTls,
  invalidBackendTls,
  namespacedName,
  portsOf,
  type Resource,
  type ResourceClient,
  resourceKey,
} from "@sluice/crds";
import type { Logger } from "pino";
import type { ClusterState } from "../../watch/cluster-state.ts";
import { createNamedObjects, type NamedObjectRef } from "../../watch/named-objects.ts";
import type { ChangedResource } from "../../watch/watch-stage.ts";

export interface BackendTlsPoliciesOptions {
  readonly clusterState: ClusterState;
  readonly client: Pick<ResourceClient, "watch">;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "warn">;
  /** Called when policies were marked without a change of the cluster state. */
  readonly onChange: () => void;
}

interface Entry extends DerivedBackendTls {
  /** Whether the first read of each object with certificates has ended. */
  readonly isComplete: boolean;
}

export function createBackendTlsPolicies({ clusterState, onChange, ...reading }: BackendTlsPoliciesOptions) {
  const entries = new Map<string, Entry>();
  /** The policies for a core Service, by the `namespace/name` of the Service. */
  const byService = new Map<string, Set<string>>();
  let marked = new Set<string>();
  const named = createNamedObjects({
    ...reading,
    onChange(users) {
      for (const user of users) marked.add(user);
      onChange();
    },
  });

  function derive(key: string): Entry | undefined {
    const policy = clusterState.BackendTLSPolicy.get(key);
    if (!policy || policy.metadata.deletionTimestamp !== undefined) {
      named.keepOnly(key, []);
      return undefined;
    }
    const { namespace } = policy.metadata;
    const objects: NamedObjectRef[] = [];
    const derived = readable(policy, () =>
      deriveBackendTls(policy, (kind, name) => {
        const ref = { kind, namespace, name };
        objects.push(ref);
        return named.read(key, ref);
      }),
    );
    named.keepOnly(key, objects);
    return { ...derived, isComplete: objects.every(named.isSettled) };
  }

  /** No API server validates the resources of a directory: a policy of an unexpected shape closes its targets. */
  function readable(policy: Resource, derive: () => DerivedBackendTls): DerivedBackendTls {
    try {
      return derive();
    } catch (error) {
      const reason = (error as Error).message;
      reading.log.warn({ resource: `BackendTLSPolicy/${resourceKey(policy)}`, reason }, "cannot read a resource");
      return invalidBackendTls(policy, reason);
    }
  }

  function replace(key: string, after: Entry | undefined): void {
    for (const service of servicesOf(entries.get(key))) {
      byService.get(service)?.delete(key);
      if (byService.get(service)?.size === 0) byService.delete(service);
    }
    for (const service of servicesOf(after)) byService.set(service, (byService.get(service) ?? new Set()).add(key));
    if (after) entries.set(key, after);
    else entries.delete(key);
  }

  /** The policy that takes precedence for a target. */
  const winner = (service: string, sectionName: string | undefined): Entry | undefined =>
    [...(byService.get(service) ?? [])]
      .flatMap((key) => entries.get(key) ?? [])
      .filter(({ targets }) => targets.some((one) => isNamed(service, one) && one.sectionName === sectionName))
      .sort((one, other) => compareByAge(one.policy, other.policy))[0];

  return {
    observe({ kind, key }: ChangedResource): void {
      if (kind === "BackendTLSPolicy") marked.add(key);
    },
    /** Derives the marked policies again. Returns the core Services whose policies may differ from before. */
    derive(): ReadonlySet<string> {
      const changed = new Set<string>();
      const keys = marked;
      marked = new Set();
      for (const key of keys) {
        const before = entries.get(key);
        const after = derive(key);
        // A policy that newly names an object stays as it was until the object has been read.
        if (before && after && !after.isComplete) continue;
        for (const service of [...servicesOf(before), ...servicesOf(after)]) changed.add(service);
        replace(key, after);
      }
      return changed;
    },
    /** The policies for a core Service (`namespace/name`). */
    policiesOf: (service: string): Iterable<string> => byService.get(service) ?? [],
    /** The policy for a port of a core Service; undefined: there is none. */
    policyFor(service: string, portName: string | undefined): DerivedBackendTls | undefined {
      const forPort = portName === undefined ? undefined : winner(service, portName);
      return forPort ?? winner(service, undefined);
    },
    keys: (): Iterable<string> => entries.keys(),
    /** A policy without its Gateways; undefined: there is none, or its certificates were not read yet. */
    get(key: string): (Omit<BackendTlsFacts, "gateways"> & { readonly services: readonly string[] }) | undefined {
      const entry = entries.get(key);
      if (!entry?.isComplete) return undefined;
      const { namespace } = entry.policy.metadata;
      const conflicts = entry.targets.flatMap((target) => {
        const older = winner(namespacedName(namespace, target.service), target.sectionName);
        return older && older !== entry
          ? [`the older policy ${older.policy.metadata.name} applies to ${described(target)}`]
          : [];
      });
      const missing = entry.targets.flatMap((target) => {
        const service = clusterState.CoreService.get(namespacedName(namespace, target.service));
        return service && !hasPort(service, target) ? [`there is no ${described(target)}`] : [];
      });
      return { ...entry, conflicts, missing, services: servicesOf(entry) };
    },
    /** The objects that policies name and whose first read has not ended. */
    unsettled: named.unsettled,
  };
}

const servicesOf = (entry: Entry | undefined): readonly string[] =>
  entry?.targets.map(({ service }) => namespacedName(entry.policy.metadata.namespace, service)) ?? [];

const described = ({ service, sectionName }: BackendTlsTarget): string =>
  sectionName === undefined ? `the core Service ${service}` : `port ${sectionName} of the core Service ${service}`;

const hasPort = (service: Resource, { sectionName }: BackendTlsTarget): boolean =>
  sectionName === undefined || portsOf(service).some(({ name }) => name === sectionName);

/** Whether the target is the core Service with this key in the namespace of its policy. */
const isNamed = (key: string, { service }: BackendTlsTarget): boolean => key.endsWith(`/${service}`);

export type BackendTlsPolicies = ReturnType<typeof createBackendTlsPolicies>;
