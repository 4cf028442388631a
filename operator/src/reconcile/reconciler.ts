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
import type { Translator } from "../translate/translator.ts";
import { inTurns } from "../turns.ts";
import type { Work } from "../work-metrics.ts";
import type { WatchedKind } from "../world/world.ts";
import type { Batches } from "./batches.ts";
import type { Built } from "./build.ts";
import { createMaking, type Made } from "./making.ts";
import { createProgressBook, type Place } from "./progress.ts";
import { createStatuses } from "./statuses.ts";

export interface ReconcilerOptions {
  readonly cache: ResourceCache<WatchedKind>;
  readonly batches: Batches;
  readonly translator: Translator;
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
  /**
   * The resource (`namespace/name`) is another object now, or gone. What that means is looked at after `touch`.
   *
   * @param meaningful False: it means the same as before. Somebody has written its status.
   */
  note(kind: WatchedKind, key: string, meaningful: boolean): void;
  /** Something changed: translate and publish soon, at once when idle. Many calls until then are one. */
  touch(): void;
  /** What the nodes run changed, or a status was written by somebody: look at what that makes different. */
  look(): void;
  /** Look at these statuses, which could not be written, as far as they have not settled. */
  lookAgain(keys: readonly string[]): void;
  /** We lead from now on: what the one before us did not come to is written and told. */
  lead(): void;
  /** Whether the published document contains all that the world holds. */
  upToDate(): boolean;
  problemsOf(kind: Kind, namespace: string, name: string): WaitAnswer["problems"];
  problemCount(): number;
  /** Resources that have changed and are not looked at yet. */
  waiting(): number;
  /** A status has been written: others may follow. */
  roomForStatuses(): void;
  /** Resources whose statuses wait to be looked at. */
  statusesWaiting(): number;
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

/** Statuses of more resources than these, all translated at once, give way to those of what changes. */
const MANY = 500;
/** Milliseconds after a change in which they do. */
const CALM = 1000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { cache, publisher, writer, teller, unread, leads, log, onReconcile, work, onProgress } = options;
  const book = createProgressBook();
  const statuses = createStatuses({
    world: cache.resources,
    book,
    publisher,
    writer,
    isCalm: () => performance.now() - touchedAt > CALM,
  });
  const make = createMaking({ ...options, resources: cache.resources });
  let problems: Translation["problems"] = new BucketMap<readonly Problem[]>(byHash);
  let owners: Translation["owners"] = new BucketMap<Owner>(byHash);
  /** `ownerKey`s of what means something else than when the last translation was begun. */
  let changed = new Set<string>();
  /** Whether the last translation came to its end: else it is not known what has changed since. */
  let isFresh = false;
  /** How often something has changed, and how often it had when what is published now was begun. */
  let touched = 0;
  let reached = -1;
  let isWorking = false;
  let closed = false;
  let scheduled: Disposable | undefined;
  let restsUntil = 0;
  /** How often something had changed when the last reconcile was begun. */
  let begun = 0;
  let touchedAt = Number.NEGATIVE_INFINITY;
  let scheduledAt = 0;
  let soon: NodeJS.Timeout | undefined;
  let rest: NodeJS.Immediate | undefined;
  let later: NodeJS.Timeout | undefined;
  let waitedFor = "";

  const resync = setInterval(lookAtAll, RESYNC).unref();

  const isDirty = () => reached !== touched;

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

  /** The resource as it was translated is not to be had any more: what stands in its place is in no document yet. */
  const isLater = (key: string, resource: Resource, { kind, namespace, name }: Owner): boolean =>
    changed.has(key) && cache.resources[kind].get(keyOf(namespace, name)) === resource;

  /** The place of resources in what was published; the statuses of those for which that is news are opened. */
  function enter(before: Before, { resources, changed: known }: Made, place: Place): void {
    const many = known === null && owners.size > MANY;
    for (const { key, after } of differences(before.owners, owners)) if (!after) book.forget(key);
    const others = differences(before.problems, problems).map(({ key }) => key);
    for (const key of known ? new Set([...known, ...others]) : owners.keys()) {
      const owner = owners.get(key);
      const resource = owner && resources[owner.kind].get(keyOf(owner.namespace, owner.name));
      if (!resource) continue;
      const own = problems.get(key) ?? [];
      if (!isLater(key, resource, owner)) {
        if (!book.contained(key, resource, own, place)) continue;
        statuses.open(key, { many });
      }
      tellNews(owner, resource, before.problems.get(key) ?? [], own);
    }
  }

  async function reconcile(): Promise<void> {
    const missing = unread();
    if (missing.length > 0) {
      const names = missing.join(", ");
      if (names !== waitedFor) log.info({ kinds: missing }, "not publishing before these have been read");
      waitedFor = names;
      return;
    }
    waitedFor = "";
    const started = performance.now();
    const [known, upTo] = [isFresh ? changed : null, touched];
    // What comes from here on is for the next time; should this fail, that starts from nothing.
    changed = new Set();
    isFresh = false;
    const made = await inTurns(make(known));
    isFresh = true;
    if (closed) return;
    clearTimeout(later);
    if (made.again !== null) later = setTimeout(touch, made.again).unref();
    const before = { problems, owners };
    ({ problems, owners } = made);
    const isFirst = reached < 0;
    reached = upTo;
    const last = publisher.revision();
    const revision = publisher.publish(made.built.snapshot);
    enter(before, made, { revision, isFirst });
    const seconds = (performance.now() - started) / 1000;
    onReconcile(seconds);
    if (revision !== last) log.debug({ revision, hash: made.built.snapshot.hash, seconds }, "published a document");
    look();
  }

  function look(): void {
    if (closed) return;
    onProgress();
    lookOn();
  }

  /** Looks at statuses, so many in a turn that others have theirs. */
  function lookOn(): void {
    clearImmediate(rest);
    rest = undefined;
    if (closed || isDirty() || !leads()) return;
    const { tooEarly, isCut } = statuses.look(owners, problems);
    if (tooEarly) soon ??= setTimeout(lookAtAll, SOON).unref();
    if (isCut) rest = setImmediate(lookOn);
  }

  function lookAtAll(): void {
    clearTimeout(soon);
    soon = undefined;
    statuses.openAll();
    look();
  }

  function touch(): void {
    touched++;
    touchedAt = performance.now();
    if (!isWorking) schedule();
  }

  function schedule(): void {
    if (scheduled || closed) return;
    scheduledAt = performance.now();
    work.added();
    const wait = restsUntil - performance.now();
    scheduled = wait > 0 ? setTimeout(run, wait) : setImmediate(run);
  }

  async function run(): Promise<void> {
    scheduled = undefined;
    isWorking = true;
    const upTo = touched;
    const rests = Math.min(RESTS * (touched - begun - 1), MOST_RESTS);
    begun = upTo;
    const started = performance.now();
    work.began((started - scheduledAt) / 1000);
    let result: "success" | "error" = "success";
    try {
      await reconcile();
    } catch (error) {
      result = "error";
      // A bug of ours: what was published stays, and the next change tries again.
      log.error({ err: error }, "cannot translate the resources");
    }
    const ended = performance.now();
    work.ended((ended - started) / 1000, result);
    restsUntil = ended + Math.min(rests * (ended - started), LONGEST_REST);
    isWorking = false;
    if (touched > upTo) schedule();
  }

  return {
    note(kind, key, meaningful) {
      const name = `${kind}/${key}`;
      // Else all statuses that were written lately would be translated with the next change.
      if (meaningful) changed.add(name);
      if (owners.has(name)) statuses.open(name);
    },
    touch,
    look,
    lookAgain(keys) {
      statuses.openAgain(keys);
      look();
    },
    lead() {
      for (const [key, own] of problems) {
        const owner = owners.get(key);
        const resource = owner && cache.resources[owner.kind].get(keyOf(owner.namespace, owner.name));
        if (resource) tellNews(owner, resource, [], own);
      }
      lookAtAll();
    },
    upToDate: () => !isDirty() && unread().length === 0,
    problemsOf(kind, namespace, name) {
      const own = problems.get(ownerKey({ kind, namespace, name })) ?? [];
      return own.map(({ reason, message }) => ({ kind, namespace, name, reason, message }));
    },
    problemCount: () => problems.size,
    waiting: () => (isDirty() ? Math.max(1, changed.size) : 0),
    roomForStatuses: lookOn,
    statusesWaiting: statuses.waiting,
    close() {
      closed = true;
      clearInterval(resync);
      clearTimeout(soon);
      clearTimeout(later);
      clearImmediate(rest);
      scheduled?.[Symbol.dispose]();
    },
  };
}
