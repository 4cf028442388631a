/** Says every resource's conditions until its status says them too. What has settled costs nothing. */
import { keyOf, type Resource } from "@sluice/crds";
import type { Publisher } from "../publish/publisher.ts";
import { conditionsOf, type Problem } from "../status/conditions.ts";
import type { StatusWriter } from "../status/writer.ts";
import type { Owner } from "../translate/translation.ts";
import type { World } from "../world/world.ts";
import type { ProgressBook } from "./progress.ts";

export interface StatusesOptions {
  readonly world: Pick<World, Owner["kind"]>;
  readonly book: ProgressBook;
  readonly publisher: Pick<Publisher, "acknowledgement" | "acknowledgedRevision" | "revision">;
  readonly writer: StatusWriter;
}

export interface Statuses {
  /** Something about the resource or its status is new: its conditions are said from now on until they have settled. */
  open(key: string): void;
  /** The next look is at all that has not settled, also at what was said and has not been seen since. */
  openAll(): void;
  /**
   * Looks at what was opened since the last look and, when the nodes have come further, at what waits for them. True
   * when it is too early to say something of one: it wants `openAll` and another look some time later.
   */
  look(owners: ReadonlyMap<string, Owner>, problems: ReadonlyMap<string, readonly Problem[]>): boolean;
}

/** Nodes that a message names at most. */
const NAMED = 10;

export function createStatuses({ world, book, publisher, writer }: StatusesOptions): Statuses {
  const unsettled = new Set<string>();
  /** Of those: what the next look is at. */
  const due = new Set<string>();
  /** Of those: what becomes another when the nodes have come further. */
  const waiting = new Set<string>();
  /** Of those that wait: of which nothing was said yet. */
  const early = new Set<string>();
  /** What the nodes ran at the last look. */
  let acknowledged = 0;

  const resourceOf = ({ kind, namespace, name }: Owner): Resource | undefined =>
    world[kind].get(keyOf(namespace, name));

  function waitingFor(): string {
    const { lagging, silent } = publisher.acknowledgement(publisher.revision());
    const late = [...lagging, ...silent];
    if (late.length === 0) return "Waiting for a node to be ready.";
    const more = late.length > NAMED ? ` and ${late.length - NAMED} more` : "";
    return `Waiting for the nodes ${late.slice(0, NAMED).join(", ")}${more}.`;
  }

  function settle(key: string): void {
    unsettled.delete(key);
    waiting.delete(key);
    early.delete(key);
  }

  return {
    open(key) {
      unsettled.add(key);
      due.add(key);
    },
    openAll() {
      for (const key of unsettled) due.add(key);
    },
    look(owners, problems) {
      const reached = publisher.acknowledgedRevision();
      if (reached !== acknowledged) for (const key of waiting) due.add(key);
      acknowledged = reached;
      if (due.size === 0) return early.size > 0;
      const message = waitingFor();
      for (const key of due) {
        const owner = owners.get(key);
        const resource = owner && resourceOf(owner);
        if (!owner || !resource) {
          settle(key);
          continue;
        }
        const own = problems.get(key) ?? [];
        const progress = book.progress(key, acknowledged, message);
        if (progress?.programmed) waiting.delete(key);
        else waiting.add(key);
        if (!progress && own.length === 0) {
          early.add(key);
          continue;
        }
        early.delete(key);
        const conditions = conditionsOf(resource, own, progress ?? { programmed: false, message });
        if (writer.want(owner, resource, conditions) && (progress?.programmed || own.length > 0)) settle(key);
      }
      due.clear();
      return early.size > 0;
    },
  };
}
