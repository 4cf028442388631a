/** Derives Sluice resources from Ingresses. */
import { isDeepStrictEqual } from "node:util";
import {
  clientCertificatesOf,
  type DerivedIngress,
  deriveIngress,
  namespacedName,
  ownIngresses,
  Relation,
  type Resource,
  type ResourceClient,
  resourceKey,
  shapeFaultOf,
} from "@sluice/crds";
import type { Logger } from "pino";
import type { OperatorSettings } from "../../settings.ts";
import { createNamedObjects, type NamedObjectRef } from "../../watch/named-objects.ts";
import type { WatchStage } from "../../watch/watch-stage.ts";
import { type DerivedChanges, type Deriver, type DeriverResult, recordChange, recordReplacement } from "../deriver.ts";
import { createDerivedCertificates, type DerivedCertificates } from "./derived-certificates.ts";
import { createHostIndex } from "./host-index.ts";

export interface IngressDeriver extends Deriver {
  /** The Ingresses of this installation, by `namespace/name`. */
  readonly ingresses: ReadonlyMap<string, Resource>;
  /** The problems that an Ingress (`namespace/name`) has by itself. */
  problemsOf(key: string): DerivedIngress["problems"];
  /** The Ingresses that name the Secret of a derived Certificate; empty for other resources. */
  readonly sourcesOf: DerivedCertificates["sourcesOf"];
  /** At the start, the objects that Ingresses name and whose first read has not ended. */
  unsynced(): readonly string[];
}

export interface IngressDeriverOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "unsynced">;
  readonly settings: Pick<OperatorSettings, "class" | "ingressControllers">;
  readonly client: Pick<ResourceClient, "watch">;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "warn">;
  /** Called when sources were marked without a change of the cluster state. */
  readonly onChange: () => void;
}

interface Derivation {
  readonly ingress: Resource;
  readonly resources: readonly Resource[];
  readonly problems: DerivedIngress["problems"];
  /** The core Services that were looked up, by `namespace/name`. */
  readonly services: ReadonlySet<string>;
  /** Whether the first read of each object that the Ingress names has ended. */
  readonly isComplete: boolean;
}

/** Milliseconds for which a deleted IngressClass counts. */
const DELETED_CLASS_GRACE = 30_000;

export function createIngressDeriver({ watch, settings, onChange, ...reading }: IngressDeriverOptions): IngressDeriver {
  const { clusterState } = watch;
  const derivations = new Map<string, Derivation>();
  const ingresses = new Map<string, Resource>();
  /** The Ingresses to derive again. */
  let marked = new Set<string>();
  /** Ingresses, and the core Services that they looked up. */
  const services = new Relation<string, string>();
  const certificates = createDerivedCertificates(settings.class);
  const hosts = createHostIndex();
  const named = createNamedObjects({
    ...reading,
    onChange(users) {
      mark(users);
      onChange();
    },
  });
  const ownership = { class: settings.class, controllers: settings.ingressControllers };
  /** The IngressClasses, with those that were deleted a moment ago. */
  const knownClasses = new Map<string, Resource>();
  let isOwn = ownIngresses({ ...ownership, ingressClasses: [] });
  const readable = new WeakMap<Resource, boolean>();
  /** Whether everything was read once. Afterwards, an object that is not read yet delays only its own Ingress. */
  let isStarted = false;

  const mark = (keys: Iterable<string>): void => {
    for (const key of keys) marked.add(key);
  };

  /** A deleted IngressClass counts for a moment, so that it can be replaced without an interruption. */
  function keepDeletedClass(key: string): void {
    const now = clusterState.IngressClass.get(key);
    const before = knownClasses.get(key);
    if (now) knownClasses.set(key, now);
    if (now || !before) return;
    setTimeout(() => {
      if (clusterState.IngressClass.has(key)) return;
      knownClasses.delete(key);
      updateOwnership();
      onChange();
    }, DELETED_CLASS_GRACE).unref();
  }

  /** Decides again which Ingresses belong to this installation. */
  function updateOwnership(): void {
    isOwn = ownIngresses({ ...ownership, ingressClasses: knownClasses.values() });
    mark(clusterState.Ingress.keys());
  }

  /** The Ingress if it is one of this installation. */
  function ownIngress(key: string): Resource | undefined {
    const ingress = clusterState.Ingress.get(key);
    if (!ingress || ingress.metadata.deletionTimestamp !== undefined || !isOwn(ingress)) return undefined;
    return isReadable(ingress) ? ingress : undefined;
  }

  /** No API server validates the Ingresses of a directory: one of an unexpected shape is left out. */
  function isReadable(ingress: Resource): boolean {
    const known = readable.get(ingress);
    if (known !== undefined) return known;
    const fault = shapeFaultOf(ingress);
    readable.set(ingress, fault === undefined);
    if (fault !== undefined)
      reading.log.warn({ ingress: resourceKey(ingress), reason: fault }, "cannot read an Ingress");
    return fault === undefined;
  }

  function deriveMarked(): DeriverResult {
    const changes: DerivedChanges = new Map();
    const withOtherProblems = new Set<string>();
    const dirty = new Set(marked);
    const changedIngresses = marked;
    marked = new Set();
    for (const key of changedIngresses) for (const other of hosts.update(key, ownIngress(key))) dirty.add(other);
    for (const key of dirty) {
      const before = derivations.get(key);
      const ingress = ownIngress(key);
      const after = ingress && derive(ingress);
      // An Ingress that newly names an object stays as it was until the object has been read.
      if (before && after && !after.isComplete) continue;
      recordReplacement(changes, before?.resources ?? [], after?.resources ?? []);
      services.set(key, after?.services ?? new Set());
      certificates.update(key, after?.ingress);
      if (!isDeepStrictEqual(before?.problems ?? [], after?.problems ?? [])) withOtherProblems.add(key);
      if (after) {
        derivations.set(key, after);
        ingresses.set(key, after.ingress);
      } else {
        derivations.delete(key);
        ingresses.delete(key);
        named.keepOnly(key, []);
      }
    }
    for (const [key, certificate] of certificates.takeChanges()) recordChange(changes, "Certificate", key, certificate);
    // The problems of an Ingress may change without the Ingress, for example with a Secret that it names.
    const sources = [...withOtherProblems].map((key) => ({ kind: "Ingress", key, isMeaningful: false }) as const);
    return { changes, sources };
  }

  function derive(ingress: Resource): Derivation {
    const services = new Set<string>();
    const objects: NamedObjectRef[] = [];
    const { namespace } = ingress.metadata;
    const readIn = (namespace: string) => (kind: "CoreService" | "Secret" | "ConfigMap", name: string) => {
      const key = namespacedName(namespace, name);
      if (kind === "CoreService") {
        services.add(key);
        return clusterState.CoreService.get(key);
      }
      const ref = { kind, namespace, name };
      objects.push(ref);
      return named.read(resourceKey(ingress), ref);
    };
    const { resources, problems } = deriveIngress(ingress, {
      class: settings.class,
      hasRegexPaths: hosts.hasRegexPaths,
      hasTls: hosts.hasTls,
      hasHost: (host) => hosts.primariesOf(host).size > 0,
      canariesOf: (host) => hosts.canariesOf(host, namespace),
      clientCertificatesOf(host) {
        const source = hosts.requiringCertificates(host);
        return source && clientCertificatesOf(source, readIn(source.metadata.namespace));
      },
      read: readIn(namespace),
    });
    named.keepOnly(resourceKey(ingress), objects);
    return { ingress, resources, problems, services, isComplete: objects.every(named.isSettled) };
  }

  return {
    ingresses,
    observe({ kind, key, isMeaningful }) {
      if (!isMeaningful) return;
      if (kind === "Ingress") marked.add(key);
      else if (kind === "CoreService") mark(services.leftsOf(key));
      else if (kind === "IngressClass") {
        keepDeletedClass(key);
        updateOwnership();
      }
    },
    derive: deriveMarked,
    problemsOf: (key) => derivations.get(key)?.problems ?? [],
    sourcesOf: certificates.sourcesOf,
    unsynced() {
      const missing = isStarted ? [] : named.unsettled();
      isStarted ||= missing.length === 0 && watch.unsynced().length === 0;
      return missing;
    },
  };
}
