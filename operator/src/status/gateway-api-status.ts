/**
 * Writes the statuses of GatewayClasses, Gateways, ListenerSets, routes and policies of backends. A Gateway or
 * ListenerSet is Programmed once every ready node serves its current version and has opened its listeners.
 */
import { isDeepStrictEqual } from "node:util";
import {
  backendTlsStatus,
  type Condition,
  clusterScopedKey,
  formatMetaTime,
  type GatewayListener,
  type GatewayProgress,
  gatewayClassStatus,
  gatewayStatus,
  listenerSetStatus,
  orphanedListenerSet,
  ownerOfListener,
  parentOfListenerSet,
  parseRefKey,
  type Ref,
  type Resource,
  type ResourceClient,
  type RouteKind,
  refKey,
  resourceKey,
  routeKinds,
  routeStatus,
  sourceOf,
} from "@sluice/crds";
import { bucketDifferences, type DocumentListener, SHARED_FLEET } from "@sluice/model";
import type { Logger } from "pino";
import type { DeriveStage } from "../derive/derive-stage.ts";
import type { GatewayNetwork } from "../derive/gateway/gateway-network.ts";
import type { OperatorMetrics } from "../metrics.ts";
import { type Problem, problemsForSource } from "./conditions.ts";
import { createSourceStatusWriter, type StatusWrite } from "./source-status-writer.ts";
import { createSourceSync, type SourceSyncOptions } from "./source-sync.ts";

export interface GatewayApiStatusOptions extends Pick<SourceSyncOptions, "translate" | "publish" | "gate"> {
  readonly derive: Pick<DeriveStage, "clusterState" | "changes" | "gateway">;
  readonly network: Pick<GatewayNetwork, "addressesOf">;
  readonly client: Pick<ResourceClient, "applyStatus">;
  readonly manager: string;
  /** The class of the installation. */
  readonly class: string;
  readonly metrics: Pick<OperatorMetrics, "wroteStatus">;
  readonly log: Pick<Logger, "warn">;
}

const sourceKinds: ReadonlySet<string> = new Set([
  "GatewayClass",
  "Gateway",
  "ListenerSet",
  "BackendTLSPolicy",
  ...routeKinds,
]);

export function createGatewayApiStatus(options: GatewayApiStatusOptions) {
  const { derive, network, translate, publish, gate, client, manager, class: className, metrics, log } = options;
  const { clusterState } = derive;
  const { gateways, listenerSets, routes, gatewayClasses, gatewayClassFault, attachedRoutes, backendTls } =
    derive.gateway;
  /**
   * By the `refKey` of a Gateway or ListenerSet: those of its listeners that every ready node serves, by their names in
   * the document. They stay Programmed while the nodes receive a document in which only other listeners have changed.
   */
  const programmed = new Map<string, ReadonlyMap<string, DocumentListener>>();
  /** By the name of a listener in the document: the nodes that do not serve it, with their reasons. */
  let failed: ReadonlyMap<string, string> = new Map();
  let published: ReadonlyMap<string, readonly Problem[]> = new Map();
  /** The published problems of the resources that are derived from a route, by the `refKey` of the route. */
  const problems = new Map<string, Map<string, readonly Problem[]>>();
  const sync = createSourceSync({
    translate,
    publish,
    gate,
    all: allSources,
    onTranslated: update,
    onProgrammed(source) {
      const { kind } = parseRefKey(source);
      // The statuses of the other kinds do not depend on the nodes.
      if (kind !== "Gateway" && kind !== "ListenerSet") return;
      const listeners = listenersOf(source);
      if (listeners) programmed.set(source, servedListeners(listeners));
      else programmed.delete(source);
      update(source);
    },
    fleetsOf(source) {
      const served = (listenersOf(source) ?? []).flatMap((listener) => listener.served ?? []);
      const fleets = new Set(served.flatMap(({ fleets: names = [SHARED_FLEET] }) => names));
      return fleets.size > 0 ? [...fleets] : undefined;
    },
  });
  const writer = createSourceStatusWriter({
    client,
    manager,
    gate,
    metrics,
    log,
    onFailure: (ref) => sync.mark([refKey(ref)]),
  });

  derive.changes.subscribe(({ resources }) => {
    sync.mark(resources.flatMap(({ kind, key }) => (sourceKinds.has(kind) ? `${kind}/${key}` : [])));
    sync.sync();
  });

  publish.progress.subscribe((news) => {
    if (!news) return;
    const changed = new Set<string>();
    for (const { key, after } of bucketDifferences(published, news.document.problems)) {
      const source = routeOf(key);
      if (source === undefined) continue;
      const known = problems.getOrInsertComputed(source, () => new Map<string, readonly Problem[]>());
      if (after) known.set(key, problemsForSource(after));
      else known.delete(key);
      if (known.size === 0) problems.delete(source);
      changed.add(source);
    }
    published = news.document.problems;
    if (changed.size === 0) return;
    sync.mark(changed);
    sync.sync();
  });

  publish.progress.subscribe(() => {
    const before = failed;
    const found = [...publish.publisher.failedListeners()];
    failed = new Map(
      found.map(([id, nodes]) => [id, nodes.map(({ address, reason }) => `${address}: ${reason}`).join("; ")]),
    );
    const changed = [...failed.keys(), ...before.keys()].filter((id) => failed.get(id) !== before.get(id));
    if (changed.length === 0) return;
    sync.mark(changed.map(ownerOfListener));
    sync.sync();
  });

  function* allSources(): Generator<string> {
    for (const one of gatewayClasses()) yield `GatewayClass/${resourceKey(one)}`;
    for (const key of gateways.keys()) yield `Gateway/${key}`;
    for (const key of listenerSets.keys()) yield `ListenerSet/${key}`;
    yield* routes.keys();
    for (const key of backendTls.keys()) yield `BackendTLSPolicy/${key}`;
  }

  /** The listeners of a Gateway or ListenerSet; undefined: it is gone, or belongs to another controller. */
  function listenersOf(source: string): readonly GatewayListener[] | undefined {
    const { kind, key } = parseRefKey(source);
    return (kind === "Gateway" ? gateways.get(key) : listenerSets.get(key))?.listeners;
  }

  /** @param gateway The Gateway to which the listeners of the resource belong. */
  const progressOf = (source: string, resource: Resource, gateway: Resource | undefined): GatewayProgress => ({
    isProgrammed: isProgrammedIn(programmed.get(source), { resource, listeners: listenersOf(source) ?? [] }),
    failedListeners: failed,
    addresses: gateway ? network.addressesOf(gateway) : [],
    attachedRoutes,
    now: Date.now(),
  });

  function update(source: string): void {
    const { kind, key } = parseRefKey(source);
    const write = statusOf(kind, key);
    if (!write) return;
    const { resource, status = {} } = write;
    const timed = withTimes(status, resource.status, formatMetaTime(new Date()));
    if (!hasStatus(resource.status, timed)) writer.write({ ...write, status: timed });
  }

  function statusOf(kind: Ref["kind"], key: string): StatusWrite | undefined {
    if (kind === "GatewayClass") {
      const resource = gatewayClasses().find(({ metadata }) => clusterScopedKey(metadata.name) === key);
      return resource && { kind, resource, status: gatewayClassStatus(resource, gatewayClassFault(resource)) };
    }
    if (kind === "Gateway") {
      const [resource, derived] = [clusterState.Gateway.get(key), gateways.get(key)];
      if (!resource || !derived) return undefined;
      return { kind, resource, status: gatewayStatus(derived, progressOf(`${kind}/${key}`, resource, resource)) };
    }
    if (kind === "ListenerSet") {
      const resource = clusterState.ListenerSet.get(key);
      if (!resource) return undefined;
      const source = `${kind}/${key}`;
      const gateway = clusterState.Gateway.get(parentOfListenerSet(resource) ?? "");
      // A Gateway that exists may belong to another controller, which then writes the status.
      const isOrphaned = !gateway && programmed.has(source);
      const derived = listenerSets.get(key) ?? (isOrphaned ? orphanedListenerSet(resource) : undefined);
      return derived && { kind, resource, status: listenerSetStatus(derived, progressOf(source, resource, gateway)) };
    }
    if (kind === "BackendTLSPolicy") {
      const [resource, facts] = [clusterState.BackendTLSPolicy.get(key), backendTls.get(key)];
      if (!resource || !facts) return undefined;
      return { kind, resource, status: backendTlsStatus(facts, resource, { class: className }), onlyThisVersion: true };
    }
    const [resource, derived] = [clusterState[kind as RouteKind].get(key), routes.get(`${kind}/${key}`)];
    if (!resource || !derived) return undefined;
    const found = [...(problems.get(`${kind}/${key}`) ?? [])].sort(([one], [other]) => (one < other ? -1 : 1));
    const facts = { class: className, problems: found.flatMap(([, list]) => list) };
    return { kind, resource, status: routeStatus(derived, resource, facts), onlyThisVersion: true };
  }

  return {
    close() {
      writer.close();
      sync.close();
    },
  };
}

/** The `refKey` of the route from which a resource is derived, by the `refKey` of the resource. */
function routeOf(resource: string): string | undefined {
  const { key } = parseRefKey(resource);
  const [namespace = "", name = ""] = key.split("/");
  const source = sourceOf({ namespace, name });
  return source && routeKinds.some((kind) => kind === source.kind) ? refKey(source) : undefined;
}

const servedListeners = (listeners: readonly GatewayListener[]): ReadonlyMap<string, DocumentListener> =>
  new Map(listeners.flatMap(({ id, served }) => (served ? [[id, served] as const] : [])));

/**
 * Whether the nodes serve a listener of the Gateway or ListenerSet.
 *
 * @param known The served listeners. Undefined: they are not known, as after a restart. Then the status counts, if it
 * is that of the current generation.
 */
function isProgrammedIn(
  known: ReadonlyMap<string, DocumentListener> | undefined,
  { resource, listeners }: { readonly resource: Resource; readonly listeners: readonly GatewayListener[] },
): (listener: string) => boolean {
  if (known) {
    const current = servedListeners(listeners);
    return (id) => known.has(id) && isDeepStrictEqual(known.get(id), current.get(id));
  }
  const { generation } = resource.metadata;
  const { listeners: entries = [] } = (resource.status ?? {}) as { readonly listeners?: readonly Members[] };
  const names = new Set(
    entries
      .filter(({ conditions = [] }) =>
        (conditions as readonly Condition[]).some(
          ({ type, status, observedGeneration }) =>
            type === "Programmed" && status === "True" && observedGeneration === generation,
        ),
      )
      .map(({ name }) => name),
  );
  const ids = new Set(listeners.flatMap(({ id, listener }) => (names.has(listener.name) ? [id] : [])));
  return (id) => ids.has(id);
}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members => (typeof value === "object" && value !== null ? (value as Members) : {});

/**
 * The status with the time of the last transition in each condition: that of the present condition, or now. Entries of
 * lists correspond if they have the same name, or the same parent or ancestor and the same controller.
 */
function withTimes<Status extends Members>(status: Status, present: unknown, now: string): Status {
  const before = membersOf(present);
  return Object.fromEntries(
    Object.entries(status).map(([name, value]) => {
      const list = Array.isArray(before[name]) ? (before[name] as readonly unknown[]) : [];
      if (name === "conditions") return [name, timedConditions(value as readonly Condition[], list, now)];
      if (name !== "listeners" && name !== "parents" && name !== "ancestors") return [name, value];
      return [
        name,
        (value as readonly object[]).map((entry) =>
          withTimes(
            membersOf(entry),
            list.find((known) => isSameEntry(membersOf(known), membersOf(entry))),
            now,
          ),
        ),
      ];
    }),
  ) as Status;
}

const isSameEntry = (one: Members, other: Members): boolean =>
  one.name === other.name &&
  one.controllerName === other.controllerName &&
  isDeepStrictEqual(one.parentRef, other.parentRef) &&
  isDeepStrictEqual(one.ancestorRef, other.ancestorRef);

const timedConditions = (conditions: readonly Condition[], present: readonly unknown[], now: string) =>
  conditions.map((condition) => {
    const { type, status, lastTransitionTime = now } = condition;
    const known = present.map(membersOf).find((one) => one.type === type && one.status === status);
    return { ...condition, lastTransitionTime: known?.lastTransitionTime ?? lastTransitionTime };
  });

/** Whether a status has these members; it may have other members, and conditions of other types. */
function hasStatus(present: unknown, status: object): boolean {
  const before = membersOf(present);
  return Object.entries(status).every(([name, value]) => {
    if (name !== "conditions" || !Array.isArray(before[name])) return isDeepStrictEqual(before[name] ?? [], value);
    const known = before[name] as readonly Condition[];
    return (value as readonly Condition[]).every((condition) =>
      isDeepStrictEqual(
        known.find(({ type }) => type === condition.type),
        condition,
      ),
    );
  });
}
