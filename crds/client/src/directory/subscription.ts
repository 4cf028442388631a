/** What one observer has been told, and what differs from it now. Pure. */
import type { Log } from "../log.ts";
import type { Kind, Observer, Resource } from "../resource.ts";
import { createTell } from "../tell.ts";
import { keyOf } from "./content.ts";
import type { View } from "./view.ts";

export interface Selection {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly matches: (resource: Resource) => boolean;
}

export function select(view: View, { kind, namespace, matches }: Selection): readonly Resource[] {
  const selected: Resource[] = [];
  for (const held of view.held.values()) {
    const { metadata } = held.resource;
    if (held.kind !== kind || (namespace !== undefined && metadata.namespace !== namespace)) continue;
    if (matches(held.resource)) selected.push(held.resource);
  }
  return selected;
}

export interface Subscription {
  /** Tells the observer what differs. */
  show(view: View): void;
  /** The directory cannot be read. The next view is told as a whole. */
  lose(error: Error): void;
}

export function createSubscription(options: {
  selection: Selection;
  observer: Observer;
  log: Log;
  signal: AbortSignal;
}): Subscription {
  const { selection, observer, log, signal } = options;
  let told: ReadonlyMap<string, Resource> | undefined;
  let shown: View | undefined;
  let lost: string | undefined;

  const tell = createTell({ kind: selection.kind, log, signal });

  return {
    show(view) {
      if (view === shown) return;
      shown = view;
      lost = undefined;
      const now = new Map(
        select(view, selection).map((resource) => [keyOf({ kind: selection.kind, ...resource.metadata }), resource]),
      );
      const before = told;
      told = now;
      if (!before) return tell(() => observer.replaced([...now.values()]));
      for (const [key, resource] of before) if (!now.has(key)) tell(() => observer.removed(resource));
      for (const [key, resource] of now)
        if (before.get(key)?.metadata.resourceVersion !== resource.metadata.resourceVersion)
          tell(() => observer.changed(resource));
    },
    lose(error) {
      told = undefined;
      shown = undefined;
      if (lost === error.message) return;
      lost = error.message;
      tell(() => observer.lost?.(error));
    },
  };
}
