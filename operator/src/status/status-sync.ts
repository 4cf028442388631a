/**
 * Writes every resource's conditions until its status, as read back, has them. Then the resource is settled, and syncs
 * skip it.
 */
import { type Condition, isDerivedName, namespacedName, type Resource } from "@sluice/crds";
import { listFirstNames } from "@sluice/model";
import type { Publisher } from "../publish/publisher.ts";
import type { Owner } from "../translate/translation.ts";
import type { ClusterState } from "../watch/cluster-state.ts";
import { conditionsOf, obstaclesOf, type Problem } from "./conditions.ts";
import type { ProgrammedTracker } from "./programmed-tracker.ts";
import { PARALLEL_STATUS_WRITES, type StatusWriter } from "./status-writer.ts";

export interface StatusSyncOptions {
  readonly clusterState: Pick<ClusterState, Owner["kind"]>;
  readonly programmed: ProgrammedTracker;
  readonly publisher: Pick<Publisher, "acknowledgement" | "acknowledgedRevision" | "missingPlugins" | "revision">;
  readonly writer: Pick<StatusWriter, "ensure" | "pendingCount">;
  /** Whether nothing has changed for a moment. Default: always true. */
  readonly isIdle?: () => boolean;
  /** Returns the resource's condition `Issued`; undefined: it has none. Default: no resource has one. */
  readonly issuedConditionOf?: (resource: Resource) => Condition | undefined;
  readonly now?: () => number;
}

const MAX_PER_SYNC = 300;
/** Milliseconds before very many resources are reported as waiting for nodes, because each report is a write. */
export const PENDING_GRACE_FOR_MANY = 10_000;

const MAX_NAMED_NODES = 10;

const namesOf = (nodes: readonly string[]): string => listFirstNames(nodes, MAX_NAMED_NODES);

/**
 * The message of the condition of an enabled Plugin whose plugin some nodes do not have. Undefined for other resources.
 *
 * @param lacking The addresses of these nodes by the plugin's name.
 */
export function missingPluginMessage(
  { kind, spec }: Pick<Resource, "kind" | "spec">,
  lacking: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  const nodes = kind === "Plugin" && spec?.enabled !== false ? lacking.get(String(spec?.plugin)) : undefined;
  if (nodes === undefined) return undefined;
  return (
    `Nodes without the plugin ${spec?.plugin} answer requests in its scope with 503: ${namesOf(nodes)}. Give them the ` +
    "same SLUICE_PLUGINS as the operator."
  );
}

export function createStatusSync(options: StatusSyncOptions) {
  const { clusterState, programmed, publisher, writer, isIdle = () => true, now = () => performance.now() } = options;
  const { issuedConditionOf = () => undefined } = options;
  const unsettled = new Set<string>();
  /** Unsettled resources that were last marked dirty with `many`. */
  const bulk = new Set<string>();
  /** When the last resource was added to `bulk`. */
  let bulkSince = 0;
  /** The queue: unsettled resources that the next syncs handle. */
  const due = { single: new Set<string>(), many: new Set<string>() };
  /** Unsettled resources whose conditions change when the nodes acknowledge a later revision. */
  const waitingForNodes = new Set<string>();
  /** Waiting resources whose conditions were not written yet, because it is too early to report them as waiting. */
  const withheld = new Set<string>();
  let acknowledged = 0;

  const resourceOf = ({ kind, namespace, name }: Owner): Resource | undefined =>
    clusterState[kind].get(namespacedName(namespace, name));

  function pendingMessage(): string {
    const { lagging, silent } = publisher.acknowledgement(publisher.revision());
    const late = [...lagging, ...silent];
    if (late.length === 0) return "Waiting for a node to be ready.";
    return `Waiting for the nodes ${namesOf(late)}.`;
  }

  function settle(key: string): void {
    unsettled.delete(key);
    bulk.delete(key);
    waitingForNodes.delete(key);
    withheld.delete(key);
  }

  const enqueue = (key: string) => due[bulk.has(key) ? "many" : "single"].add(key);

  /**
   * Whether one of very many resources may be written: only while the writer has a free slot, so that other writes do
   * not wait. While changes arrive, only when no write is pending.
   */
  const hasRoom = () => writer.pendingCount() < (isIdle() ? PARALLEL_STATUS_WRITES : 1);

  return {
    /**
     * Called when the resource or its status has changed: its conditions are written until the resource has settled.
     * A derived resource has no status: does nothing.
     *
     * @param options.many Whether the resource is one of very many: its conditions are written after the
     * conditions of other resources, and wait while many writes are in progress.
     */
    markDirty(key: string, options: { readonly many?: boolean } = {}) {
      if (isDerivedName(key)) return;
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
    /** Queues all unsettled resources, including resources whose conditions were written and not yet read back. */
    retryAll() {
      for (const key of unsettled) enqueue(key);
    },
    /** Queues these resources, except settled ones. */
    retry(keys: readonly string[]) {
      for (const key of keys) if (unsettled.has(key)) enqueue(key);
    },
    /**
     * Syncs the queued resources. When the acknowledged revision has changed, it also syncs the resources that wait for
     * nodes.
     *
     * @returns `tooEarly`: some resources are too recent to report as waiting; call `retryAll` and sync again later.
     * `hasMore`: more resources are queued than one sync handles; sync again in the next turn of the event loop.
     */
    sync(owners: ReadonlyMap<string, Owner>, problems: ReadonlyMap<string, readonly Problem[]>) {
      const reached = publisher.acknowledgedRevision();
      if (reached !== acknowledged) for (const key of waitingForNodes) enqueue(key);
      acknowledged = reached;
      if (due.single.size + due.many.size === 0) return { tooEarly: withheld.size > 0, hasMore: false };
      const message = pendingMessage();
      const lacking = publisher.missingPlugins();
      const ensureConditions = (key: string, owner: Owner, resource: Resource): void => {
        const own = problems.get(key) ?? [];
        const progress = programmed.progress(key, acknowledged, message);
        if (progress?.programmed) waitingForNodes.delete(key);
        else waitingForNodes.add(key);
        const isBulk = bulk.has(key) && now() - bulkSince < PENDING_GRACE_FOR_MANY;
        const hasObstacle = obstaclesOf(own).length > 0;
        if (!hasObstacle && (!progress || (isBulk && !progress.programmed))) {
          withheld.add(key);
          return;
        }
        withheld.delete(key);
        const missing = missingPluginMessage(resource, lacking);
        const state = { ...(progress ?? { programmed: false, message }), missing };
        const issued = issuedConditionOf(resource);
        const conditions = [...conditionsOf(resource, own, state), ...(issued ? [issued] : [])];
        if (writer.ensure(owner, resource, conditions) && (progress?.programmed || hasObstacle)) settle(key);
      };
      let left = MAX_PER_SYNC;
      const syncKeys = (keys: Set<string>, mayContinue: () => boolean): boolean => {
        for (const key of keys) {
          if (!mayContinue()) return true;
          if (left-- === 0) return false;
          keys.delete(key);
          const owner = owners.get(key);
          const resource = owner && resourceOf(owner);
          if (resource) ensureConditions(key, owner, resource);
          else settle(key);
        }
        return true;
      };
      const hasMore = !syncKeys(due.single, () => true) || !syncKeys(due.many, hasRoom);
      return { tooEarly: withheld.size > 0, hasMore };
    },
    queuedCount: () => due.single.size + due.many.size,
  };
}
