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
  /** Looks at those that have not settled. True when it is too early to say something of one. */
  look(owners: ReadonlyMap<string, Owner>, problems: ReadonlyMap<string, readonly Problem[]>): boolean;
}

export function createStatuses({ world, book, publisher, writer }: StatusesOptions): Statuses {
  const unsettled = new Set<string>();

  const resourceOf = ({ kind, namespace, name }: Owner): Resource | undefined =>
    world[kind].get(keyOf(namespace, name));

  function waitingFor(): string {
    const { lagging, silent } = publisher.acknowledgement(publisher.revision());
    const late = [...lagging, ...silent];
    return late.length > 0 ? `Waiting for the nodes ${late.join(", ")}.` : "Waiting for a node to be ready.";
  }

  return {
    open: (key) => void unsettled.add(key),
    look(owners, problems) {
      if (unsettled.size === 0) return false;
      const acknowledged = publisher.acknowledgedRevision();
      const message = waitingFor();
      let tooEarly = false;
      for (const key of unsettled) {
        const owner = owners.get(key);
        const resource = owner && resourceOf(owner);
        if (!owner || !resource) {
          unsettled.delete(key);
          continue;
        }
        const own = problems.get(key) ?? [];
        const progress = book.progress(key, acknowledged, message);
        if (!progress && own.length === 0) {
          tooEarly = true;
          continue;
        }
        const conditions = conditionsOf(resource, own, progress ?? { programmed: false, message });
        const settled = writer.want(owner, resource, conditions) && (progress?.programmed || own.length > 0);
        if (settled) unsettled.delete(key);
      }
      return tooEarly;
    },
  };
}
