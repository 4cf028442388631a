/** The resources of a client, kept in memory, and a way to wait for them. */

import { createResourceCache, keyOf, type Log, type Resource, type ResourceClient } from "@sluice/crds";
import { CREDENTIAL_LABEL, type Written } from "@sluice/model";
import type { Resources, WatchedKind } from "./view.ts";

export interface LiveResources {
  readonly resources: Resources;
  /** Kinds that cannot be read for now. */
  unsynced(): readonly WatchedKind[];
  /** Resolves to true as soon as the condition holds, to false after so many milliseconds. */
  until(condition: () => boolean, timeout: number): Promise<boolean>;
}

export interface LiveOptions {
  readonly client: ResourceClient;
  readonly homeNamespace: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
}

const sluiceKinds = ["Service", "Route", "Plugin", "Consumer"] as const;

/** Our kinds of all namespaces, and labelled Secrets of the home namespace: others are not the admin listener's. */
export function followResources({ client, homeNamespace, log, signal, onChange }: LiveOptions): LiveResources {
  const waiting = new Set<() => void>();
  const changed = (): void => {
    onChange();
    for (const look of [...waiting]) look();
  };
  const shared = { client, secretLabel: CREDENTIAL_LABEL, signal, log, onChange: changed };
  const ours = createResourceCache({ ...shared, kinds: sluiceKinds, namespaces: [] });
  const secrets = createResourceCache({ ...shared, kinds: ["Secret"] as const, namespaces: [homeNamespace] });
  return {
    resources: { ...ours.resources, ...secrets.resources },
    unsynced: () => [...ours.unsynced(), ...secrets.unsynced()],
    until(condition, timeout) {
      return new Promise((resolve) => {
        const leave = (holds: boolean): void => {
          clearTimeout(timer);
          waiting.delete(look);
          resolve(holds);
        };
        const look = (): void => {
          if (condition()) leave(true);
        };
        const timer = setTimeout(leave, timeout, false);
        waiting.add(look);
        look();
      });
    },
  };
}

/** Whether the resources hold what was written, or something newer. */
export function isSeen(resources: Resources, written: Written): boolean {
  const { kind, namespace, name, uid, generation, resourceVersion } = written;
  const held = resources[kind as WatchedKind].get(keyOf(namespace, name));
  if (written.deleted) return !held || (uid !== undefined && held.metadata.uid !== uid);
  if (!held || held.metadata.uid !== uid) return false;
  if (generation !== undefined) return (held.metadata.generation ?? 0) >= generation;
  return atLeast(held, resourceVersion ?? "");
}

/** Versions of a cluster are numbers that grow (KEP-5504); a directory's are texts. */
function atLeast({ metadata: { resourceVersion: is = "" } }: Resource, wanted: string): boolean {
  const numbers = /^\d+$/.test(is) && /^\d+$/.test(wanted);
  return is === wanted || (numbers && BigInt(is) >= BigInt(wanted));
}
