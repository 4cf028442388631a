/** Says every resource's conditions until its status says them too. What has settled costs nothing. */
import { keyOf, type Resource } from "@sluice/crds";
import type { Publisher } from "../publish/publisher.ts";
import type { Owner } from "../translate/translation.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { conditionsOf, type Problem } from "./conditions.ts";
import type { ProgrammedTracker } from "./programmed-tracker.ts";
import { PARALLEL_STATUS_WRITES, type StatusWriter } from "./status-writer.ts";

export interface StatusSyncOptions {
  readonly clusterState: Pick<ClusterState, Owner["kind"]>;
  readonly programmed: ProgrammedTracker;
  readonly publisher: Pick<Publisher, "acknowledgement" | "acknowledgedRevision" | "revision">;
  readonly writer: Pick<StatusWriter, "ensure" | "pendingCount">;
  /** Whether nothing has changed for a moment. Default: nothing ever does. */
  readonly isIdle?: () => boolean;
  readonly now?: () => number;
}

export interface StatusSync {
  /**
   * Something about the resource or its status is new: its conditions are said from now on until they have settled.
   *
   * @param options.many It is one of very many: its conditions give way to those of others, and are not said as long as
   *   many writes are under way.
   */
  markDirty(key: string, options?: { readonly many?: boolean }): void;
  /** The next look is at all that has not settled, also at what was said and has not been seen since. */
  retryAll(): void;
  /** The next look is also at these, as far as they have not settled. */
  retry(keys: readonly string[]): void;
  /** Looks at what was opened since the last look and, when the nodes have come further, at what waits for them. */
  sync(owners: ReadonlyMap<string, Owner>, problems: ReadonlyMap<string, readonly Problem[]>): SyncResult;
  /** What the next look is at. */
  queuedCount(): number;
}

export interface SyncResult {
  /** It is too early to say something of one: it wants `openAll` and another look some time later. */
  readonly tooEarly: boolean;
  /** There was more than is looked at in one turn: it wants another look in the next. */
  readonly hasMore: boolean;
}

/** Resources that one look is at, at most. */
const MAX_PER_SYNC = 300;
/** Milliseconds of waiting for nodes that are not worth a write to each of very many. */
export const PENDING_GRACE_FOR_MANY = 10_000;

interface ConditionUpdate {
  readonly owner: Owner;
  readonly own: readonly Problem[];
  /** What it waits for, if it does. */
  readonly message: string;
}

/** Nodes that a message names at most. */
const MAX_NAMED_NODES = 10;

export function createStatusSync(options: StatusSyncOptions): StatusSync {
  const { clusterState, programmed, publisher, writer, isIdle = () => true, now = () => performance.now() } = options;
  const unsettled = new Set<string>();
  /** Of those: what was opened as one of very many, and when the last of them was. */
  const bulk = new Set<string>();
  let bulkSince = 0;
  /** Of those that have not settled: what the next look is at. */
  const due = { single: new Set<string>(), many: new Set<string>() };
  /** Of those: what becomes another when the nodes have come further. */
  const waitingForNodes = new Set<string>();
  /** Of those that wait: of which nothing was said yet. */
  const withheld = new Set<string>();
  /** What the nodes ran at the last look. */
  let acknowledged = 0;

  const resourceOf = ({ kind, namespace, name }: Owner): Resource | undefined =>
    clusterState[kind].get(keyOf(namespace, name));

  function pendingMessage(): string {
    const { lagging, silent } = publisher.acknowledgement(publisher.revision());
    const late = [...lagging, ...silent];
    if (late.length === 0) return "Waiting for a node to be ready.";
    const more = late.length > MAX_NAMED_NODES ? ` and ${late.length - MAX_NAMED_NODES} more` : "";
    return `Waiting for the nodes ${late.slice(0, MAX_NAMED_NODES).join(", ")}${more}.`;
  }

  function settle(key: string): void {
    unsettled.delete(key);
    bulk.delete(key);
    waitingForNodes.delete(key);
    withheld.delete(key);
  }

  const enqueue = (key: string) => due[bulk.has(key) ? "many" : "single"].add(key);

  /** Of very many so few are written at once that others do not wait for them; and fewer still while others come. */
  const hasRoom = () => writer.pendingCount() < (isIdle() ? PARALLEL_STATUS_WRITES : 1);

  function ensureConditions(key: string, resource: Resource, { owner, own, message }: ConditionUpdate): void {
    const progress = programmed.progress(key, acknowledged, message);
    if (progress?.programmed) waitingForNodes.delete(key);
    else waitingForNodes.add(key);
    const isEarly = !progress || (bulk.has(key) && !progress.programmed && now() - bulkSince < PENDING_GRACE_FOR_MANY);
    if (isEarly && own.length === 0) {
      withheld.add(key);
      return;
    }
    withheld.delete(key);
    const conditions = conditionsOf(resource, own, progress ?? { programmed: false, message });
    if (writer.ensure(owner, resource, conditions) && (progress?.programmed || own.length > 0)) settle(key);
  }

  return {
    markDirty(key, options = {}) {
      unsettled.add(key);
      if (options.many) {
        bulk.add(key);
        bulkSince = now();
      } else {
        bulk.delete(key);
        due.many.delete(key);
      }
      enqueue(key);
    },
    retryAll() {
      for (const key of unsettled) enqueue(key);
    },
    retry(keys) {
      for (const key of keys) if (unsettled.has(key)) enqueue(key);
    },
    sync(owners, problems) {
      const reached = publisher.acknowledgedRevision();
      if (reached !== acknowledged) for (const key of waitingForNodes) enqueue(key);
      acknowledged = reached;
      if (due.single.size + due.many.size === 0) return { tooEarly: withheld.size > 0, hasMore: false };
      const message = pendingMessage();
      let left = MAX_PER_SYNC;
      const lookAt = (keys: Set<string>, mayGoOn: () => boolean): boolean => {
        for (const key of keys) {
          if (!mayGoOn()) return true;
          if (left-- === 0) return false;
          keys.delete(key);
          const owner = owners.get(key);
          const resource = owner && resourceOf(owner);
          if (resource) ensureConditions(key, resource, { owner, own: problems.get(key) ?? [], message });
          else settle(key);
        }
        return true;
      };
      const hasMore = !lookAt(due.single, () => true) || !lookAt(due.many, hasRoom);
      return { tooEarly: withheld.size > 0, hasMore };
    },
    queuedCount: () => due.single.size + due.many.size,
  };
}
