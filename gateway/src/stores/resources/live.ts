/** The resources of a client, kept in memory, and a way to wait for them. */

import { createResourceCache, type Log, type ResourceClient } from "@sluice/crds";
import { CREDENTIAL_LABEL, resourceKinds } from "@sluice/model";
import type { Resources, WatchedKind } from "./view.ts";

export interface LiveResources {
  readonly resources: Resources;
  /** Kinds that cannot be read for now. */
  unsynced(): readonly WatchedKind[];
  /** Resolves to true as soon as the condition holds, to false after so many milliseconds or when the watches end. */
  until(condition: () => boolean, timeout: number): Promise<boolean>;
}

export interface LiveOptions {
  readonly client: ResourceClient;
  readonly homeNamespace: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Told of every resource (`namespace/name`) that is another object now, or gone. */
  readonly onResource: (kind: WatchedKind, key: string) => void;
}

/** Our kinds of all namespaces, and Secrets that are meant for us of the home namespace: others are not ours to read. */
export function followResources({ client, homeNamespace, log, signal, onResource }: LiveOptions): LiveResources {
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const look of [...waiting]) look();
  };
  const shared = { client, secretLabel: CREDENTIAL_LABEL, signal, log, onChange: changed, onResource };
  const ours = createResourceCache({ ...shared, kinds: resourceKinds, namespaces: [] });
  const secrets = createResourceCache({ ...shared, kinds: ["Secret"] as const, namespaces: [homeNamespace] });
  return {
    resources: { ...ours.resources, ...secrets.resources },
    unsynced: () => [...ours.unsynced(), ...secrets.unsynced()],
    until(condition, timeout) {
      return new Promise((resolve) => {
        const leave = (holds: boolean): void => {
          clearTimeout(timer);
          waiting.delete(look);
          signal.removeEventListener("abort", stop);
          resolve(holds);
        };
        const look = (): void => {
          if (condition()) leave(true);
        };
        const stop = () => leave(false);
        const timer = setTimeout(stop, signal.aborted ? 0 : timeout);
        signal.addEventListener("abort", stop);
        waiting.add(look);
        look();
      });
    },
  };
}
