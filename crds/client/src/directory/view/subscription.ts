/** Sends an observer the differences between the previous view and a new one. */
import { bucketDifferences } from "@sluice/model";
import type { Log } from "../../log.ts";
import { createNotifier } from "../../notifier.ts";
import type { Kind, Observer, Resource } from "../../resource.ts";
import { compareByPosition, type DirectoryView, type ViewEntry } from "./directory-view.ts";

export interface Selection {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly matches: (resource: Resource) => boolean;
}

/** The selected resources, in the order of their positions in the files. */
export function selectResources(view: DirectoryView, selection: Selection): readonly Resource[] {
  const selected = [...view.entries.values()].filter((held) => isSelected(held, selection));
  return selected.sort(compareByPosition).map(({ resource }) => resource);
}

function isSelected({ kind: of, resource }: ViewEntry, { kind, namespace, matches }: Selection): boolean {
  if (of !== kind || (namespace !== undefined && resource.metadata.namespace !== namespace)) return false;
  return matches(resource);
}

export type Subscription = ReturnType<typeof createSubscription>;

export function createSubscription(options: {
  selection: Selection;
  observer: Observer;
  log: Log;
  signal: AbortSignal;
}) {
  const { selection, observer, log, signal } = options;
  const tell = createNotifier({ kind: selection.kind, log, signal });
  let shown: DirectoryView | undefined;
  let lost: string | undefined;

  const selected = (entry: ViewEntry | undefined): Resource | undefined =>
    entry && isSelected(entry, selection) ? entry.resource : undefined;

  return {
    /** Sends the differences to the observer. The first view, and the first after `fail`, is sent as a whole. */
    update(view: DirectoryView): void {
      const before = shown;
      shown = view;
      lost = undefined;
      if (!before) {
        tell(() => observer.replaced(selectResources(view, selection)));
        return;
      }
      for (const difference of bucketDifferences(before.entries, view.entries)) {
        const [old, now] = [selected(difference.before), selected(difference.after)];
        if (now && old?.metadata.resourceVersion !== now.metadata.resourceVersion) tell(() => observer.changed(now));
        else if (old && !now) tell(() => observer.removed(old));
      }
    },
    /** Called when the directory cannot be read. */
    fail(error: Error): void {
      shown = undefined;
      if (lost === error.message) return;
      lost = error.message;
      tell(() => observer.lost?.(error));
    },
  };
}
