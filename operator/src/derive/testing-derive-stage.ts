/** A derive stage for tests. */
import assert from "node:assert/strict";
import {
  type GatewayParameters,
  type Kind,
  kindNames,
  type Observer,
  type Resource,
  refKey,
  resourceKey,
} from "@sluice/crds";
import { resourceKinds, SHARED_FLEET } from "@sluice/model";
import { createEmitter } from "../emitter.ts";
import { type ClusterState, type WatchedKind, watchedKinds } from "../watch/cluster-state.ts";
import type { ClusterChange } from "../watch/watch-stage.ts";
import { createDeriveStage } from "./derive-stage.ts";

/** A watch stage without a cluster, and the derive stage after it. */
export function deriveScene() {
  const changes = createEmitter<ClusterChange>();
  const state = Object.fromEntries(watchedKinds.map((kind) => [kind, new Map<string, Resource>()]));
  const clusterState = state as Record<WatchedKind, Map<string, Resource>>;
  const observers = new Map<string, Observer>();
  const network = {
    nodePortOf: (_: Resource, port: number): number | undefined => port,
    addressesOf: () => [],
    dedicatedFault: undefined,
    fleetsOf: ({ metadata: { name } }: Resource, parameters?: GatewayParameters) =>
      parameters ? [parameters.nodes === "Shared" ? SHARED_FLEET : `fleet-${name}`] : [],
    changes: createEmitter<ReadonlySet<string>>(),
  };
  const derive = createDeriveStage({
    watch: { clusterState, changes, unsynced: () => [], isOwn: ({ spec }) => (spec?.class ?? "sluice") === "sluice" },
    settings: { class: "sluice", homeNamespace: "sluice", ingressControllers: [] },
    client: {
      watch(kind, observer, { namespace, fields, signal }) {
        const name = `${kind} ${namespace} ${fields}`;
        observers.set(name, observer);
        signal.addEventListener("abort", () => observers.get(name) === observer && observers.delete(name));
      },
    },
    network,
    signal: new AbortController().signal,
    log: { warn: () => undefined },
  });
  const emitted: ClusterChange[] = [];
  derive.changes.subscribe((change) => void emitted.push(change));
  return {
    derive,
    network,
    clusterState,
    /** The observers of single objects, by `<kind> <namespace> <field selector>`. */
    observers,
    /** The keys of the changed resources that the last change reported. */
    reported: () =>
      emitted
        .at(-1)
        ?.resources.map(({ kind, key }) => `${kind}/${key}`)
        .sort(),
    /** The keys of the resources that the last change reported as meaningful changes. */
    reportedAsMeaningful: () =>
      emitted.at(-1)?.resources.flatMap(({ kind, key, isMeaningful }) => (isMeaningful ? [`${kind}/${key}`] : [])) ??
      [],
    emit: (resources: ClusterChange["resources"]) =>
      changes.emit({ resources, versions: [], isMeaningful: true, classesChanged: false }),
    /** Puts or, with `gone`, removes the resources as one change. */
    apply(resources: readonly Resource[], { gone = false, isMeaningful = true } = {}) {
      const changed = resources.map((resource) => {
        const kind = kindOfResource(resource);
        const key = resourceKey(resource);
        if (gone) clusterState[kind].delete(key);
        else clusterState[kind].set(key, resource);
        return { kind, key, isMeaningful };
      });
      changes.emit({ resources: changed, versions: [], isMeaningful, classesChanged: false });
    },
  };
}

const kindOfResource = ({ apiVersion, kind }: Resource): WatchedKind => {
  const found = (Object.keys(kindNames) as Kind[]).find(
    (one) => kindNames[one].apiVersion === apiVersion && kindNames[one].kind === kind,
  );
  assert.ok(found);
  return found as WatchedKind;
};

/** Every derived resource without its version, by `refKey`. */
export const derivedIn = (state: ClusterState): ReadonlyMap<string, unknown> =>
  new Map(
    resourceKinds.flatMap((kind) =>
      [...state[kind].values()].map(({ metadata: { resourceVersion: _, ...metadata }, ...rest }) => [
        refKey({ kind, ...metadata }),
        { ...rest, metadata },
      ]),
    ),
  );
