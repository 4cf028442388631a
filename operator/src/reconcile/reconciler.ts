/**
 * The operator's loop: from the world to a published document and back to conditions. It reacts to state, not to
 * events: whatever happened, it translates what is there now, so that a restart gives the same result.
 */
import { type Kind, keyOf, type Resource, type ResourceCache } from "@sluice/crds";
import { BucketMap, byHash, differences, type WaitAnswer } from "@sluice/model";
import type { Logger } from "pino";
import type { Publisher } from "../publish/publisher.ts";
import type { Problem } from "../status/conditions.ts";
import type { Teller } from "../status/teller.ts";
import type { StatusWriter } from "../status/writer.ts";
import { type Owner, ownerKey, type Translation } from "../translate/translation.ts";
import type { Translate } from "../translate/translator.ts";
import type { Work } from "../work-metrics.ts";
import type { WatchedKind } from "../world/world.ts";
import type { Batches } from "./batches.ts";
import { type Built, build } from "./build.ts";
import { withHeldBack } from "./held-back.ts";
import { createProgressBook } from "./progress.ts";
import { createStatuses } from "./statuses.ts";

export interface ReconcilerOptions {
  readonly cache: ResourceCache<WatchedKind>;
  readonly batches: Batches;
  readonly translate: Translate;
  readonly empty: Built;
  readonly publisher: Publisher;
  readonly writer: StatusWriter;
  readonly teller: Teller;
  /** What has to be read before anything is published and was not yet. */
  readonly unread: () => readonly string[];
  /** While another operator leads, everything is translated and nothing is written or told. */
  readonly leads: () => boolean;
  readonly log: Logger;
  readonly onReconcile: (seconds: number) => void;
  readonly work: Work;
  /** The document or what the nodes run has changed. */
  readonly onProgress: () => void;
}

export interface Reconciler {
  /** The resource (`namespace/name`) is another object now, or gone. What that means is looked at after `touch`. */
  note(kind: WatchedKind, key: string): void;
  /** Something changed: translate and publish soon, at once when idle. Many calls until then are one. */
  touch(): void;
  /** What the nodes run changed, or a status was written by somebody: look at what that makes different. */
  look(): void;
  /** Look at all statuses that have not settled: some could not be written. */
  lookAgain(): void;
  /** We lead from now on: what the one before us did not come to is written and told. */
  lead(): void;
  /** Whether the published document contains all that the world holds. */
  upToDate(): boolean;
  problemsOf(kind: Kind, namespace: string, name: string): WaitAnswer["problems"];
  problemCount(): number;
  /** Resources that have changed and are not looked at yet. */
  waiting(): number;
  close(): void;
}

/** Milliseconds between looks at statuses that were written and have not been seen again. */
const RESYNC = 10_000;
/** Milliseconds until the next look while it is too early to speak of waiting. */
const SOON = 1000;
/**
 * After a reconcile that stood for several changes the next one waits so many times as long as that took, so that many
 * changes that come at once share one: some need a look at all resources. Who makes one change after the other never
 * waits.
 */
const MOST_RESTS = 4;
/** For each change more than one. */
const RESTS = 2;
/** Milliseconds of such a wait at the most. */
const LONGEST_REST = 250;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { cache, batches, translate, publisher, writer, teller, unread, leads, log, onReconcile, work, onProgress } =
    options;
  const book = createProgressBook();
  const statuses = createStatuses({ world: cache.resources, book, publisher, writer });
  let built = options.empty;
  let problems: Translation["problems"] = new BucketMap<readonly Problem[]>(byHash);
  let owners: Translation["owners"] = new BucketMap<Owner>(byHash);
  /** `ownerKey`s of what is another object than in the last translation; null: it may be anything. */
  let changed: Set<string> | null = null;
  /** `ownerKey`s of what batches held back or told about in the last translation. */
  let inBatches: ReadonlySet<string> = new Set();
  let dirty = true;
  let closed = false;
  let scheduled: Disposable | undefined;
  let restsUntil = 0;
  let touches = 0;
  let touchedAt = 0;
  let soon: NodeJS.Timeout | undefined;
  let later: NodeJS.Timeout | undefined;
  let waitedFor = "";

  const resync = setInterval(lookAgain, RESYNC).unref();

  /** A problem that nobody was told of yet. */
  function tellNews(owner: Owner, resource: Resource, before: readonly Problem[], after: readonly Problem[]): void {
    if (!leads()) return;
    for (const problem of after) {
      const { condition, message } = problem;
      if (before.some((known) => known.message === message)) continue;
      const said = resource.status?.conditions?.some(
        (known) => known.type === condition && known.message.includes(message),
      );
      if (!said) teller.tell(owner, problem);
    }
  }

  interface Before {
    readonly problems: Translation["problems"];
    readonly owners: Translation["owners"];
  }

  /** The place of resources in what was published; the statuses of those for which that is news are opened. */
  function enter(before: Before, known: ReadonlySet<string> | null, revision: number): void {
    for (const { key, after } of differences(before.owners, owners)) if (!after) book.forget(key);
    const others = differences(before.problems, problems).map(({ key }) => key);
    for (const key of known ? new Set([...known, ...others]) : owners.keys()) {
      const owner = owners.get(key);
      const resource = owner && cache.resources[owner.kind].get(keyOf(owner.namespace, owner.name));
      if (!resource) continue;
      const own = problems.get(key) ?? [];
      if (!book.contained(key, resource, own, revision)) continue;
      statuses.open(key);
      tellNews(owner, resource, before.problems.get(key) ?? [], own);
    }
  }

  function reconcile(): void {
    const missing = unread();
    if (missing.length > 0) {
      const names = missing.join(", ");
      if (names !== waitedFor) log.info({ kinds: missing }, "not publishing before these have been read");
      waitedFor = names;
      return;
    }
    waitedFor = "";
    const started = performance.now();
    const { world, again, ...held } = batches.holdBack(cache.resources);
    clearTimeout(later);
    if (again !== null) later = setTimeout(touch, again).unref();
    // Whatever fails from here on, the next translation starts from nothing.
    const known = changed;
    changed = null;
    const inBatchesNow = new Set([...held.held, ...held.problems.keys()]);
    for (const key of [...inBatches, ...inBatchesNow]) known?.add(key);
    const translation = withHeldBack(translate(world, known), held);
    const result = build(built, translation);
    const before = { problems, owners };
    built = result.built;
    problems = merged(translation.problems, result.problems);
    owners = translation.owners;
    inBatches = inBatchesNow;
    changed = new Set();
    dirty = false;
    const last = publisher.revision();
    const revision = publisher.publish(built.snapshot);
    enter(before, known, revision);
    const seconds = (performance.now() - started) / 1000;
    onReconcile(seconds);
    if (revision !== last) log.debug({ revision, hash: built.snapshot.hash, seconds }, "published a document");
    look();
  }

  function look(): void {
    if (closed) return;
    onProgress();
    if (dirty || !leads()) return;
    if (statuses.look(owners, problems)) soon ??= setTimeout(lookAgain, SOON).unref();
  }

  function lookAgain(): void {
    clearTimeout(soon);
    soon = undefined;
    statuses.openAll();
    look();
  }

  function touch(): void {
    dirty = true;
    touches++;
    if (scheduled || closed) return;
    touchedAt = performance.now();
    work.added();
    const rest = restsUntil - performance.now();
    scheduled = rest > 0 ? setTimeout(run, rest) : setImmediate(run);
  }

  function run(): void {
    scheduled = undefined;
    const rests = Math.min(RESTS * (touches - 1), MOST_RESTS);
    touches = 0;
    const started = performance.now();
    work.began((started - touchedAt) / 1000);
    let result: "success" | "error" = "success";
    try {
      reconcile();
    } catch (error) {
      result = "error";
      // A bug of ours: what was published stays, and the next change tries again.
      log.error({ err: error }, "cannot translate the resources");
    }
    const ended = performance.now();
    work.ended((ended - started) / 1000, result);
    restsUntil = ended + Math.min(rests * (ended - started), LONGEST_REST);
  }

  return {
    note(kind, key) {
      const name = `${kind}/${key}`;
      changed?.add(name);
      // Somebody may have written its status: we ourselves, or another.
      if (owners.has(name)) statuses.open(name);
    },
    touch,
    look,
    lookAgain,
    lead() {
      for (const [key, own] of problems) {
        const owner = owners.get(key);
        const resource = owner && cache.resources[owner.kind].get(keyOf(owner.namespace, owner.name));
        if (resource) tellNews(owner, resource, [], own);
      }
      lookAgain();
    },
    upToDate: () => !dirty && unread().length === 0,
    problemsOf(kind, namespace, name) {
      const own = problems.get(ownerKey({ kind, namespace, name })) ?? [];
      return own.map(({ reason, message }) => ({ kind, namespace, name, reason, message }));
    },
    problemCount: () => problems.size,
    waiting: () => (dirty ? Math.max(1, changed?.size ?? 0) : 0),
    close() {
      closed = true;
      clearInterval(resync);
      clearTimeout(soon);
      clearTimeout(later);
      scheduled?.[Symbol.dispose]();
    },
  };
}

function merged(one: Translation["problems"], other: ReadonlyMap<string, readonly Problem[]>): Translation["problems"] {
  return one.with([...other].map(([key, list]) => [key, [...(one.get(key) ?? []), ...list]] as const));
}
