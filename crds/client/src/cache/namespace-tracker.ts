/** The namespaces that match a label selector, followed as their labels change. */
import type { ResourceClient } from "../resource.ts";

export interface NamespaceSelector {
  /** Label selector in kubectl's syntax: `sluice.dev/gateway=public`. */
  readonly labels: string;
  /** Namespaces that count whatever their labels. */
  readonly always: readonly string[];
}

export interface NamespaceTrackerOptions {
  readonly client: Pick<ResourceClient, "watch">;
  readonly selector: NamespaceSelector;
  readonly signal: AbortSignal;
  readonly log: { warn(details: object, message: string): void };
  /** Called after the first list and when namespaces are added or removed, after `has` reflects the change. */
  readonly onChange: (moved: readonly string[]) => void;
}

export interface NamespaceTracker {
  has(namespace: string): boolean;
  isSynced(): boolean;
  /** Why the last read failed; null if it succeeded. */
  trouble(): string | null;
}

export function trackNamespaces({
  client,
  selector,
  signal,
  log,
  onChange,
}: NamespaceTrackerOptions): NamespaceTracker {
  const { labels, always } = selector;
  let selected = new Set(always);
  let synced = false;
  let trouble: string | null = null;

  function select(names: readonly string[]): void {
    const next = new Set([...always, ...names]);
    const moved = [...selected.symmetricDifference(next)];
    const isNews = moved.length > 0 || !synced;
    selected = next;
    synced = true;
    if (isNews) onChange(moved);
  }

  client.watch(
    "Namespace",
    {
      replaced(list) {
        trouble = null;
        select(list.map(({ metadata }) => metadata.name));
      },
      changed: ({ metadata }) => select([...selected, metadata.name]),
      // With a selector the API server also sends this for a namespace that has lost its label.
      removed: ({ metadata }) => select([...selected].filter((name) => name !== metadata.name)),
      lost(error) {
        trouble = error.message;
        log.warn({ kind: "Namespace", reason: error.message }, "cannot read resources, trying again");
      },
      trouble(error) {
        trouble = error?.message ?? null;
      },
    },
    { signal, labels },
  );
  return { has: (namespace) => selected.has(namespace), isSynced: () => synced, trouble: () => trouble };
}
