/** Compares the state last sent to one observer with a new view. Pure. */

import { refKey } from "../../keys.ts";
import type { Log } from "../../log.ts";
import { createNotifier } from "../../notifier.ts";
import type { Kind, Observer, Resource } from "../../resource.ts";
import { changedSince, type DirectoryView, type ViewEntry } from "./directory-view.ts";

export interface Selection {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly matches: (resource: Resource) => boolean;
}

/** In the order of their positions in the files. */
export function select(view: DirectoryView, selection: Selection): readonly Resource[] {
  const selected = [...view.entries.values()].filter((held) => isSelected(held, selection));
  return selected.sort(byPlace).map(({ resource }) => resource);
}

function isSelected({ kind: of, resource }: ViewEntry, { kind, namespace, matches }: Selection): boolean {
  if (of !== kind || (namespace !== undefined && resource.metadata.namespace !== namespace)) return false;
  return matches(resource);
}

const byPlace = (one: ViewEntry, other: ViewEntry): number =>
  one.source.path === other.source.path
    ? one.placed.document - other.placed.document
    : one.source.path < other.source.path
      ? -1
      : 1;

export interface Subscription {
  /** Sends the differences to the observer. */
  update(view: DirectoryView): void;
  /** The directory cannot be read. The next view is sent as a whole. */
  fail(error: Error): void;
}

export function createSubscription(options: {
  selection: Selection;
  observer: Observer;
  log: Log;
  signal: AbortSignal;
}): Subscription {
  const { selection, observer, log, signal } = options;
  let told: Map<string, Resource> | undefined;
  let shown: DirectoryView | undefined;
  let lost: string | undefined;

  const tell = createNotifier({ kind: selection.kind, log, signal });

  function showOne(before: Map<string, Resource>, key: string, view: DirectoryView): void {
    const held = view.entries.get(key);
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
    update(view) {
      if (view === shown) return;
      const keys = shown && changedSince(view, shown.version);
      shown = view;
      lost = undefined;
      if (told) {
        for (const key of keys ?? new Set([...told.keys(), ...view.entries.keys()])) showOne(told, key, view);
        return;
      }
      const all = select(view, selection);
      told = new Map(all.map((resource) => [refKey({ kind: selection.kind, ...resource.metadata }), resource]));
      tell(() => observer.replaced(all));
    },
    fail(error) {
      told = undefined;
      shown = undefined;
      if (lost === error.message) return;
      lost = error.message;
      tell(() => observer.lost?.(error));
    },
  };
}
