/** Says every resource's conditions until its status says them too. What has settled costs nothing. */
import { keyOf, type Resource } from "@sluice/crds";
import type { Publisher } from "../publish/publisher.ts";
import { conditionsOf, type Problem } from "../status/conditions.ts";
import { PARALLEL, type StatusWriter } from "../status/writer.ts";
import type { Owner } from "../translate/translation.ts";
import type { World } from "../world/world.ts";
import type { ProgressBook } from "./progress.ts";

export interface StatusesOptions {
  readonly world: Pick<World, Owner["kind"]>;
  readonly book: ProgressBook;
  readonly publisher: Pick<Publisher, "acknowledgement" | "acknowledgedRevision" | "revision">;
  readonly writer: Pick<StatusWriter, "want" | "underWay">;
  /** Whether nothing has changed for a moment. Default: nothing ever does. */
  readonly isCalm?: () => boolean;
  readonly now?: () => number;
}

export interface Statuses {
  /**
   * Something about the resource or its status is new: its conditions are said from now on until they have settled.
   *
   * @param options.many It is one of very many: its conditions give way to those of others, and are not said as long as
   *   many writes are under way.
   */
  open(key: string, options?: { readonly many?: boolean }): void;
  /** The next look is at all that has not settled, also at what was said and has not been seen since. */
  openAll(): void;
  /** The next look is also at these, as far as they have not settled. */
  openAgain(keys: readonly string[]): void;
  /** Looks at what was opened since the last look and, when the nodes have come further, at what waits for them. */
  look(owners: ReadonlyMap<string, Owner>, problems: ReadonlyMap<string, readonly Problem[]>): Look;
  /** What the next look is at. */
  waiting(): number;
}

export interface Look {
  /** It is too early to say something of one: it wants `openAll` and another look some time later. */
  readonly tooEarly: boolean;
  /** There was more than is looked at in one turn: it wants another look in the next. */
  readonly isCut: boolean;
}

/** Resources that one look is at, at most. */
const AT_ONCE = 300;
/** Milliseconds of waiting for nodes that are not worth a write to each of very many. */
export const PATIENCE_FOR_MANY = 10_000;

interface Telling {
  readonly owner: Owner;
  readonly own: readonly Problem[];
  /** What it waits for, if it does. */
  readonly message: string;
}

/** Nodes that a message names at most. */
const NAMED = 10;

export function createStatuses(options: StatusesOptions): Statuses {
  const { world, book, publisher, writer, isCalm = () => true, now = () => performance.now() } = options;
  const unsettled = new Set<string>();
  /** Of those: what was opened as one of very many, and when the last of them was. */
  const many = new Set<string>();
  let manySince = 0;
  /** Of those that have not settled: what the next look is at. */
  const due = { single: new Set<string>(), many: new Set<string>() };
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
    many.delete(key);
    waiting.delete(key);
    early.delete(key);
  }

  const becomesDue = (key: string) => due[many.has(key) ? "many" : "single"].add(key);

  /** Of very many so few are written at once that others do not wait for them; and fewer still while others come. */
  const hasRoom = () => writer.underWay() < (isCalm() ? PARALLEL : 1);

  function tell(key: string, resource: Resource, { owner, own, message }: Telling): void {
    const progress = book.progress(key, acknowledged, message);
    if (progress?.programmed) waiting.delete(key);
    else waiting.add(key);
    const isEarly = !progress || (many.has(key) && !progress.programmed && now() - manySince < PATIENCE_FOR_MANY);
    if (isEarly && own.length === 0) {
      early.add(key);
      return;
    }
    early.delete(key);
    const conditions = conditionsOf(resource, own, progress ?? { programmed: false, message });
    if (writer.want(owner, resource, conditions) && (progress?.programmed || own.length > 0)) settle(key);
  }

  return {
    open(key, options = {}) {
      unsettled.add(key);
      if (options.many) {
        many.add(key);
        manySince = now();
      } else {
        many.delete(key);
        due.many.delete(key);
      }
      becomesDue(key);
    },
    openAll() {
      for (const key of unsettled) becomesDue(key);
    },
    openAgain(keys) {
      for (const key of keys) if (unsettled.has(key)) becomesDue(key);
    },
    look(owners, problems) {
      const reached = publisher.acknowledgedRevision();
      if (reached !== acknowledged) for (const key of waiting) becomesDue(key);
      acknowledged = reached;
      if (due.single.size + due.many.size === 0) return { tooEarly: early.size > 0, isCut: false };
      const message = waitingFor();
      let left = AT_ONCE;
      const lookAt = (keys: Set<string>, mayGoOn: () => boolean): boolean => {
        for (const key of keys) {
          if (!mayGoOn()) return true;
          if (left-- === 0) return false;
          keys.delete(key);
          const owner = owners.get(key);
          const resource = owner && resourceOf(owner);
          if (resource) tell(key, resource, { owner, own: problems.get(key) ?? [], message });
          else settle(key);
        }
        return true;
      };
      const isCut = !lookAt(due.single, () => true) || !lookAt(due.many, hasRoom);
      return { tooEarly: early.size > 0, isCut };
    },
    waiting: () => due.single.size + due.many.size,
  };
}
