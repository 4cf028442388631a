/** Derives the marked Gateways with their ListenerSets, and keeps the results and the listeners of the document. */
import { isDeepStrictEqual } from "node:util";
import {
  allListeners,
  attachmentFactsOf,
  type DerivedGateway,
  type DerivedListenerSet,
  deriveGateway,
  isOwnGateway,
  resourceKey,
} from "@sluice/crds";
import { BucketMap, type DocumentListener, hashOfText } from "@sluice/model";
import type { ClusterState } from "../../watch/cluster-state.ts";
import { createNamedObjects, type NamedObjectRef, type NamedObjectsOptions } from "../../watch/named-objects.ts";
import { type DerivedChanges, recordReplacement } from "../deriver.ts";
import type { GatewayNetwork } from "./gateway-network.ts";
import { createListenerOverlaps } from "./listener-overlaps.ts";
import type { DerivedOwners } from "./listener-owners.ts";
import type { ListenerSetIndex } from "./listener-set-index.ts";
import type { TrackedDerivations } from "./tracked-derivations.ts";

export interface DerivedGatewaysOptions extends Pick<NamedObjectsOptions, "client" | "signal" | "log"> {
  readonly clusterState: ClusterState;
  /** The class of the installation. */
  readonly class: string;
  readonly network: GatewayNetwork;
  readonly tracking: TrackedDerivations;
  readonly setsOf: ListenerSetIndex;
  /** Called when Gateways were marked without a change of the cluster state. */
  readonly onChange: () => void;
}

export interface DerivedGateways extends DerivedOwners {
  /** The listeners of the document, by name. */
  listeners(): BucketMap<DocumentListener>;
  /** The objects that Gateways name and whose first read has not ended. */
  unsettled(): readonly string[];
  /**
   * Derives the marked Gateways. Returns, by the `refKey` of each of them and of each ListenerSet whose result differs,
   * whether its listeners in the document have changed.
   */
  derive(changes: DerivedChanges): Map<string, boolean>;
}

export function createDerivedGateways(options: DerivedGatewaysOptions): DerivedGateways {
  const { clusterState, class: className, network, tracking, setsOf, onChange } = options;
  const gateways = new Map<string, DerivedGateway>();
  const listenerSets = new Map<string, DerivedListenerSet>();
  const overlaps = createListenerOverlaps();
  let listeners = new BucketMap<DocumentListener>(hashOfText);
  /** Gateways whose ports or addresses may have changed. */
  let movedGateways = new Set<string>();

  const named = createNamedObjects({
    ...options,
    onChange(users) {
      for (const key of users) tracking.markGateway(key);
      onChange();
    },
  });

  network.changes.subscribe((keys) => {
    for (const key of keys) {
      tracking.markGateway(key);
      movedGateways.add(key);
    }
    onChange();
  });

  /**
   * Undefined: the Gateway is gone, belongs to another controller, or cannot be read. A Gateway that newly names an
   * object stays as it was until the object has been read, except for ListenerSets that have left it.
   */
  function gatewayAfter(key: string): DerivedGateway | undefined {
    const objects: NamedObjectRef[] = [];
    const derived = tracking.derive(`Gateway/${key}`, (lookups) => {
      const gateway = clusterState.Gateway.get(key);
      if (!gateway || !isOwnGateway(gateway, className, lookups.gatewayClass)) return undefined;
      if (gateway.metadata.deletionTimestamp !== undefined) return undefined;
      const before = gateways.get(key);
      // Another Gateway of the same name does not get the parameters of the former one.
      const isSame = before?.gateway.metadata.uid === gateway.metadata.uid;
      return deriveGateway(gateway, {
        ...lookups,
        class: className,
        nodePortOf: (port) => network.nodePortOf(gateway, port),
        readParameters: (namespace, name) => lookups.read("GatewayParameters", namespace, name),
        dedicatedFault: network.dedicatedFault,
        lastParameters: isSame ? before?.parameters : undefined,
        fleetsOf: (parameters) => network.fleetsOf(gateway, parameters),
        overlapOf: overlaps.overlapOf,
        listenerSets: setsOf.of(key),
        readNamed(kind, namespace, name) {
          objects.push({ kind, namespace, name });
          return named.read(key, { kind, namespace, name });
        },
      });
    });
    named.keepOnly(key, objects);
    return derived && !objects.every(named.isSettled) ? setsOf.withoutMoved(gateways.get(key) ?? derived) : derived;
  }

  function derive(changes: DerivedChanges): Map<string, boolean> {
    const results = new Map<string, boolean>();
    const moved = movedGateways;
    movedGateways = new Set();
    for (const key of tracking.takeGateways()) {
      deriveOne(key);
      overlaps.set(key, gateways.get(key));
    }
    // What a Gateway wants to have served does not depend on the other Gateways.
    for (const key of overlaps.resolve()) deriveOne(key);
    for (const key of moved)
      for (const { listenerSet } of gateways.get(key)?.listenerSets ?? [])
        record(`ListenerSet/${resourceKey(listenerSet)}`, false);
    return results;

    function record(ref: string, differs: boolean): void {
      results.set(ref, differs || results.get(ref) === true);
    }

    function deriveOne(key: string): void {
      const before = gateways.get(key);
      const after = gatewayAfter(key);
      if (after) gateways.set(key, after);
      else gateways.delete(key);
      recordReplacement(changes, before?.resources ?? [], after?.resources ?? []);
      const hasOtherCertificate = !isDeepStrictEqual(before?.backendCertificate, after?.backendCertificate);
      const differs = !isDeepStrictEqual(before?.listeners, after?.listeners);
      if (hasOtherCertificate || !isSameForRoutes(before, after)) tracking.markUsers(`Gateway/${key}`);
      if (hasOtherCertificate)
        for (const { listenerSet } of after?.listenerSets ?? [])
          tracking.markUsers(`ListenerSet/${resourceKey(listenerSet)}`);
      const isDocumentChanged = replaceSets(before?.listenerSets ?? [], after?.listenerSets ?? []) || differs;
      record(`Gateway/${key}`, isDocumentChanged);
      if (isDocumentChanged) replaceListeners(before, after);
    }

    /** Returns whether any of the ListenerSets differs. */
    function replaceSets(before: readonly DerivedListenerSet[], after: readonly DerivedListenerSet[]): boolean {
      const previous = new Map(before.map((one) => [resourceKey(one.listenerSet), one]));
      const next = new Map(after.map((one) => [resourceKey(one.listenerSet), one]));
      let isDifferent = false;
      for (const key of new Set([...previous.keys(), ...next.keys()])) {
        const [old, one] = [previous.get(key), next.get(key)];
        // The ListenerSet may already belong to another Gateway.
        if (one) listenerSets.set(key, one);
        else if (listenerSets.get(key) === old) listenerSets.delete(key);
        recordReplacement(changes, old?.resources ?? [], listenerSets.get(key)?.resources ?? []);
        if (old && one && isDeepStrictEqual([old.accepted, old.listeners], [one.accepted, one.listeners])) continue;
        record(`ListenerSet/${key}`, true);
        const [refusedBefore, refused] = [old, one].map((set) => (set?.isAttached ? undefined : set?.accepted));
        if (!isSameForRoutes(old, one) || !isDeepStrictEqual(refusedBefore, refused))
          tracking.markUsers(`ListenerSet/${key}`);
        isDifferent = true;
      }
      return isDifferent;
    }
  }

  function replaceListeners(before: DerivedGateway | undefined, after: DerivedGateway | undefined): void {
    const served = new Map<string, DocumentListener | undefined>();
    for (const { id } of before ? allListeners(before) : []) served.set(id, undefined);
    for (const { id, served: listener } of after ? allListeners(after) : []) {
      if (isDeepStrictEqual(listeners.get(id), listener)) served.delete(id);
      else served.set(id, listener);
    }
    listeners = listeners.with(served);
  }

  return { gateways, listenerSets, listeners: () => listeners, unsettled: named.unsettled, derive };
}

type Listeners = Pick<DerivedGateway, "listeners">;

/** Whether the same routes attach to the listeners before and after a change, for the same hosts. */
const isSameForRoutes = (before: Listeners | undefined, after: Listeners | undefined): boolean =>
  isDeepStrictEqual(before?.listeners.map(attachmentFactsOf), after?.listeners.map(attachmentFactsOf));
