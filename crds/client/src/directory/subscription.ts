/** What one observer has been told, and what differs from it now. Pure. */
import type { Log } from "../log.ts";
import type { Kind, Observer, Resource } from "../resource.ts";
import { createTell } from "../tell.ts";
import { keyOf } from "./content.ts";
import { changedSince, type Held, type View } from "./view.ts";

export interface Selection {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly matches: (resource: Resource) => boolean;
}

/** In the order of their places. */
export function select(view: View, selection: Selection): readonly Resource[] {
  const selected = [...view.held.values()].filter((held) => isSelected(held, selection));
  return selected.sort(byPlace).map(({ resource }) => resource);
}

function isSelected({ kind: of, resource }: Held, { kind, namespace, matches }: Selection): boolean {
  if (of !== kind || (namespace !== undefined && resource.metadata.namespace !== namespace)) return false;
  return matches(resource);
}

const byPlace = (one: Held, other: Held): number =>
  one.source.path === other.source.path
    ? one.placed.document - other.placed.document
    : one.source.path < other.source.path
      ? -1
      : 1;

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
  let told: Map<string, Resource> | undefined;
  let shown: View | undefined;
  let lost: string | undefined;

  const tell = createTell({ kind: selection.kind, log, signal });

  function showOne(before: Map<string, Resource>, key: string, view: View): void {
    const held = view.held.get(key);
    const old = before.get(key);
    if (held && isSelected(held, selection)) {
      before.set(key, held.resource);
      if (old?.metadata.resourceVersion !== held.resource.metadata.resourceVersion)
        tell(() => observer.changed(held.resource));
    } else if (old) {
      before.delete(key);
      tell(() => observer.removed(old));
    }
  }

  return {
    show(view) {
      if (view === shown) return;
      const keys = shown && changedSince(view, shown.version);
      shown = view;
      lost = undefined;
      if (told) {
        for (const key of keys ?? new Set([...told.keys(), ...view.held.keys()])) showOne(told, key, view);
        return;
      }
      const all = select(view, selection);
      told = new Map(all.map((resource) => [keyOf({ kind: selection.kind, ...resource.metadata }), resource]));
      tell(() => observer.replaced(all));
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
