/** What the operator makes of resources: the document for the nodes, conditions and Events. */
import {
  backendTlsStatus,
  type Condition,
  gatewayClassStatus,
  gatewayStatus,
  isDerivedName,
  type Kind,
  kindOf,
  listenerSetStatus,
  parseRefKey,
  type Ref,
  type Resource,
  refKey,
  resourceKey,
  routeStatus,
  sourceOf,
} from "@sluice/crds";
import { type Document, registerPlugins, SHARED_FLEET, snapshotToDocument } from "@sluice/model";
import { parseAllDocuments } from "yaml";
import { createDeriveStage, type DeriveStage } from "../../operator/src/derive/derive-stage.ts";
import { createBatches, type HeldBack, withHeldBack } from "../../operator/src/document/batches.ts";
import { buildSnapshot, emptyBuild, type SnapshotBuild } from "../../operator/src/document/build-snapshot.ts";
import { createEmitter } from "../../operator/src/emitter.ts";
import { conditionsOf, type Problem, problemsForSource } from "../../operator/src/status/conditions.ts";
import type { Translation } from "../../operator/src/translate/translation.ts";
import { createTranslate } from "../../operator/src/translate/translator.ts";
import { type ClusterState, watchedKinds } from "../../operator/src/watch/cluster-state.ts";
import type { ClusterChange } from "../../operator/src/watch/watch-stage.ts";
import { deviceTokenFacts } from "../plugins/device-token.ts";

/** The golden files use this plugin, which does not come with Sluice and declares credentials. */
registerPlugins([deviceTokenFacts]);

const HOME = "default";

/** The resources in a file's YAML text, in the form in which the API server returns them. Throws for invalid YAML. */
export function readResources(text: string): readonly Resource[] {
  const documents = parseAllDocuments(text);
  if ("empty" in documents) return [];
  return documents.map((document) => {
    const [fault] = document.errors;
    if (fault) throw fault;
    return served(document.toJS() as Resource);
  });
}

/** Like the API server: sets generation and uid, and converts `stringData` of a Secret to `data`. */
function served({ stringData, ...resource }: Resource): Resource {
  const { metadata } = resource;
  if (!metadata.creationTimestamp) throw new Error(`${metadata.name}: give it a creationTimestamp`);
  const given = Object.entries((stringData ?? {}) as Record<string, string>);
  const data = given.map(([key, value]) => [key, Buffer.from(value).toString("base64")] as const);
  return {
    ...resource,
    metadata: { generation: 1, uid: `uid of ${metadata.namespace}/${metadata.name}`, ...metadata },
    ...(data.length > 0 && { data: Object.fromEntries(data) }),
  };
}

const kindOfResource = ({ apiVersion, kind, metadata }: Resource): Kind => {
  const known = kindOf(apiVersion, kind);
  if (!known) throw new Error(`${metadata.name}: ${apiVersion} ${kind} is not a kind that the operator reads`);
  return known;
};

export function clusterStateOf(resources: readonly Resource[]): ClusterState {
  const clusterState = Object.fromEntries(watchedKinds.map((kind) => [kind, new Map<string, Resource>()])) as Record<
    Kind,
    Map<string, Resource>
  >;
  for (const resource of resources) clusterState[kindOfResource(resource)]?.set(resourceKey(resource), resource);
  return clusterState;
}

/** What an operator publishes and holds back after a start, when it no longer waits for incomplete batches. */
function afterRestart(clusterState: ClusterState): HeldBack {
  let time = 0;
  const batches = createBatches({ class: "sluice", now: () => time });
  for (const kind of watchedKinds)
    for (const resource of clusterState[kind].values()) batches.observe(kind, undefined, resource);
  for (;;) {
    const heldBack = batches.holdBack(clusterState);
    if (heldBack.recheckAfter === null) return heldBack;
    time += heldBack.recheckAfter;
  }
}

/** The derive stage of an operator that has read these resources. */
function deriveFrom(clusterState: ClusterState, named: readonly Resource[]): DeriveStage {
  const changes = createEmitter<ClusterChange>();
  const derive = createDeriveStage({
    watch: { clusterState, changes, unsynced: () => [], isOwn: ({ spec }) => (spec?.class ?? "sluice") === "sluice" },
    settings: { class: "sluice", homeNamespace: HOME, ingressControllers: [] },
    // The objects that an Ingress or a policy names are the resources of the input.
    client: {
      watch(kind, observer, { namespace = "", fields = "" }) {
        const name = fields.replace("metadata.name=", "");
        observer.replaced(
          named.filter((one) => kindOfResource(one) === kind && resourceKey(one) === `${namespace}/${name}`),
        );
      },
    },
    network: {
      nodePortOf: (_, port) => port,
      addressesOf: () => [],
      dedicatedFault: undefined,
      fleetsOf({ metadata: { name } }, parameters) {
        if (!parameters) return [];
        return [parameters.nodes === "Dedicated" ? `fleet-of-${name}` : SHARED_FLEET];
      },
      changes: createEmitter(),
    },
    signal: new AbortController().signal,
    log: { warn: () => undefined },
  });
  const read = watchedKinds.flatMap((kind) =>
    [...clusterState[kind].keys()].map((key) => ({ kind, key, isMeaningful: true })),
  );
  changes.emit({ resources: read, versions: [], isMeaningful: true, classesChanged: false });
  return derive;
}

/** The Events about each Ingress. */
function eventsOf(derive: DeriveStage, problems: Translation["problems"]): ReadonlyMap<string, readonly string[]> {
  const events = new Map<string, string[]>();
  const record = (ref: Ref, { reason, message }: Pick<Problem, "reason" | "message">) => {
    const name = `${ref.kind} ${ref.namespace}/${ref.name}`;
    events.set(name, [...(events.get(name) ?? []), `${reason}: ${message}`]);
  };
  for (const [key, { metadata }] of derive.ingress.ingresses)
    for (const problem of derive.ingress.problemsOf(key)) record({ kind: "Ingress", ...metadata }, problem);
  for (const [key, list] of problems) {
    const { kind, key: name } = parseRefKey(key);
    const [namespace = "", local = ""] = name.split("/");
    for (const source of derive.sourcesOf({ kind, namespace, name: local }))
      for (const problem of list) record(source, problem);
  }
  return events;
}

/** `<condition>=<status> <reason>: <message>` of each condition, after every node has acknowledged the document. */
function gatewayApiConditions(
  derive: DeriveStage,
  problems: Translation["problems"],
): readonly (readonly [string, readonly string[]])[] {
  const { gateways, listenerSets, routes, attachedRoutes, backendTls, ...classes } = derive.gateway;
  const lines = (conditions: readonly Condition[], prefix = "") =>
    conditions.map(
      ({ type, status, reason, message }) =>
        `${prefix}${type}=${status} ${reason}${message === "" ? "" : `: ${message}`}`,
    );
  const addresses = [{ type: "IPAddress", value: "192.0.2.7" }] as const;
  // The certificates of the inputs are valid then, except those that have expired on purpose.
  const now = Date.UTC(2027, 0, 1);
  const progress = {
    isProgrammed: () => true,
    failedListeners: new Map<string, string>(),
    addresses,
    attachedRoutes,
    now,
  };
  const ofListeners = (listeners: ReturnType<typeof gatewayStatus>["listeners"]) =>
    listeners.flatMap(({ name, attachedRoutes: count, supportedKinds, conditions: of }) => [
      `${name}: ${count} routes of ${supportedKinds.map(({ kind }) => kind).join(", ")}`,
      ...lines(of, `${name}: `),
    ]);
  return [
    ...classes.gatewayClasses().map((one) => {
      const { conditions } = gatewayClassStatus(one, classes.gatewayClassFault(one));
      return [`GatewayClass ${one.metadata.name}`, lines(conditions)] as const;
    }),
    ...[...gateways].map(([key, derived]) => {
      const { conditions, listeners, attachedListenerSets } = gatewayStatus(derived, progress);
      const sets = derived.listenerSets.length > 0 ? [`${attachedListenerSets} ListenerSets`] : [];
      return [`Gateway ${key}`, [...lines(conditions), ...sets, ...ofListeners(listeners)]] as const;
    }),
    ...[...listenerSets].map(([key, derived]) => {
      const { conditions, listeners } = listenerSetStatus(derived, progress);
      return [`ListenerSet ${key}`, [...lines(conditions), ...ofListeners(listeners)]] as const;
    }),
    ...[...routes].map(([key, derived]) => {
      const ofRoute = [...problems].filter(([resource]) => {
        const [namespace = "", name = ""] = parseRefKey(resource).key.split("/");
        const source = sourceOf({ namespace, name });
        return source && refKey(source) === key;
      });
      const { parents } = routeStatus(derived, derived.route, {
        class: "sluice",
        problems: ofRoute
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .flatMap(([, list]) => problemsForSource(list)),
      });
      return [
        key.replace("/", " "),
        parents.flatMap(({ parentRef, conditions }) => lines(conditions, `${parentRef.name}: `)),
      ] as const;
    }),
    ...[...backendTls.keys()].map((key) => {
      const facts = backendTls.get(key);
      const { ancestors } = facts ? backendTlsStatus(facts, facts.policy, { class: "sluice" }) : { ancestors: [] };
      return [
        `BackendTLSPolicy ${key}`,
        ancestors.flatMap(({ ancestorRef, conditions }) => lines(conditions, `${ancestorRef.name}: `)),
      ] as const;
    }),
  ];
}

/** The operator's result for the resources after every node has acknowledged it. */
export function goldenOutcome(resources: readonly Resource[]): {
  readonly document: Document;
  readonly items: SnapshotBuild["items"];
  readonly conditions: readonly (readonly [string, readonly string[]])[];
  readonly events: ReadonlyMap<string, readonly string[]>;
} {
  const derive = deriveFrom(clusterStateOf(resources), resources);
  const { clusterState, ...heldBack } = afterRestart(derive.clusterState);
  const translation = withHeldBack(createTranslate({ homeNamespace: HOME, class: "sluice" })(clusterState), heldBack);
  const { built, problems: late } = buildSnapshot(emptyBuild, {
    ...translation,
    listeners: derive.gateway.listeners(),
  });
  const owners = [...translation.owners].filter(([, { name }]) => !isDerivedName(name));
  const conditions = owners.map(([key, { kind, namespace, name }]) => {
    const resource = resources.find(
      (one) => kindOfResource(one) === kind && resourceKey(one) === `${namespace}/${name}`,
    );
    if (!resource) throw new Error(`${key} has an outcome, but the input does not contain it`);
    const problems: readonly Problem[] = [...(translation.problems.get(key) ?? []), ...(late.get(key) ?? [])];
    const said = conditionsOf(resource, problems, { programmed: true, message: "" });
    const lines = said.map(({ type, status, reason, message }) =>
      status === "True" ? `${type}=True` : `${type}=${status} ${reason}: ${message}`,
    );
    return [`${kind} ${namespace}/${name}`, lines] as const;
  });
  const events = eventsOf(derive, translation.problems);
  return {
    document: snapshotToDocument(built.snapshot),
    items: built.items,
    conditions: [...conditions, ...gatewayApiConditions(derive, translation.problems)],
    events,
  };
}
