/**
 * The operator's loop: from the world to a published document and back to conditions. It reacts to state, not to
 * events: whatever happened, it translates what is there now, so that a restart gives the same result.
 */
import type { Kind, Resource, ResourceCache, ResourceClient } from "@sluice/crds";
import { keyOf } from "@sluice/crds";
import type { WaitAnswer } from "@sluice/model";
import type { Logger } from "pino";
import type { Publisher } from "../publish/publisher.ts";
import { conditionsOf, type Problem } from "../status/conditions.ts";
import type { StatusWriter } from "../status/writer.ts";
import { type Owner, ownerKey, type Translation } from "../translate/translation.ts";
import type { watchedKinds } from "../world/world.ts";
import { type Built, build } from "./build.ts";
import { createProgressBook } from "./progress.ts";

export interface ReconcilerOptions {
  readonly cache: ResourceCache<(typeof watchedKinds)[number]>;
  readonly client: Pick<ResourceClient, "recordEvent">;
  readonly translate: (world: ResourceCache<(typeof watchedKinds)[number]>["resources"]) => Translation;
  readonly empty: Built;
  readonly publisher: Publisher;
  readonly writer: StatusWriter;
  readonly log: Logger;
  readonly onReconcile: (seconds: number) => void;
  /** The document or what the nodes run has changed. */
  readonly onProgress: () => void;
}

export interface Reconciler {
  /** Something changed: translate and publish soon. Many calls in one turn of the event loop are one. */
  touch(): void;
  /** What the nodes run changed, or it is time to look at statuses again. */
  look(): void;
  /** Whether the published document contains all that the world holds. */
  upToDate(): boolean;
  problemsOf(kind: Kind, namespace: string, name: string): WaitAnswer["problems"];
  problemCount(): number;
  close(): void;
}

const REPORTER = "sluice-operator";
/** Milliseconds between looks at all statuses, for what other writers changed and for nodes that stay silent. */
const RESYNC = 10_000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { cache, client, translate, publisher, writer, log, onReconcile, onProgress } = options;
  const book = createProgressBook();
  let built = options.empty;
  let problems: ReadonlyMap<string, readonly Problem[]> = new Map();
  let owners: ReadonlyMap<string, Owner> = new Map();
  let dirty = true;
  let scheduled: NodeJS.Immediate | undefined;
  let later: NodeJS.Timeout | undefined;
  let waitedFor = "";

  const resourceOf = ({ kind, namespace, name }: Owner): Resource | undefined =>
    cache.resources[kind].get(keyOf(namespace, name));

  /** A problem that nobody was told of yet becomes an Event, which `kubectl describe` shows. */
  function tell(
    owner: Owner,
    resource: Resource,
    before: readonly Problem[] = [],
    after: readonly Problem[] = [],
  ): void {
    for (const { condition, reason, message } of after) {
      if (before.some((known) => known.message === message)) continue;
      if (resource.status?.conditions?.some((said) => said.type === condition && said.message.includes(message)))
        continue;
      log.warn({ resource: ownerKey(owner), reason }, message);
      const event = { type: "Warning", reason, message, reporter: REPORTER } as const;
      client.recordEvent(owner, event).catch((error: Error) => {
        log.warn({ resource: ownerKey(owner), reason: error.message }, "cannot write an event");
      });
    }
  }

  function merged(one: Translation["problems"], other: Translation["problems"]): Translation["problems"] {
    if (other.size === 0) return one;
    const all = new Map(one);
    for (const [key, list] of other) all.set(key, [...(all.get(key) ?? []), ...list]);
    return all;
  }

  function reconcile(): void {
    const missing = cache.unsynced();
    if (missing.length > 0) {
      const names = missing.join(", ");
      if (names !== waitedFor) log.info({ kinds: missing }, "not publishing before these kinds have been read");
      waitedFor = names;
      return;
    }
    const started = performance.now();
    const translation = translate(cache.resources);
    const result = build(built, translation);
    built = result.built;
    const before = problems;
    problems = merged(translation.problems, result.problems);
    owners = translation.owners;
    dirty = false;
    const known = publisher.revision();
    const revision = publisher.publish(built.snapshot);
    for (const [key, owner] of owners) {
      const resource = resourceOf(owner);
      if (!resource) continue;
      book.contained(key, resource, problems.get(key) ?? [], revision);
      tell(owner, resource, before.get(key), problems.get(key));
    }
    book.forget(owners);
    const seconds = (performance.now() - started) / 1000;
    onReconcile(seconds);
    if (revision !== known) log.info({ revision, hash: built.snapshot.hash, seconds }, "published a document");
    look();
  }

  /** Says every resource's conditions; the writer writes what differs. */
  function look(): void {
    onProgress();
    if (dirty) return;
    const acknowledged = publisher.acknowledgedRevision();
    const { lagging, silent } = publisher.acknowledgement(publisher.revision());
    const late = [...lagging, ...silent];
    const waitingFor =
      late.length > 0 ? `Waiting for the nodes ${late.join(", ")}.` : "Waiting for a node to be ready.";
    let tooEarly = false;
    for (const [key, owner] of owners) {
      const resource = resourceOf(owner);
      if (!resource) continue;
      const own = problems.get(key) ?? [];
      const progress = book.progress(key, acknowledged, waitingFor);
      if (!progress && own.length === 0) tooEarly = true;
      else
        writer.want(
          owner,
          resource,
          conditionsOf(resource, own, progress ?? { programmed: false, message: waitingFor }),
        );
    }
    clearTimeout(later);
    later = setTimeout(look, tooEarly ? 1000 : RESYNC).unref();
  }

  return {
    touch() {
      dirty = true;
      if (scheduled) return;
      scheduled = setImmediate(() => {
        scheduled = undefined;
        try {
          reconcile();
        } catch (error) {
          // A bug of ours: what was published stays, and the next change tries again.
          log.error({ err: error }, "cannot translate the resources");
        }
      });
    },
    look,
    upToDate: () => !dirty && cache.unsynced().length === 0,
    problemsOf(kind, namespace, name) {
      const own = problems.get(ownerKey({ kind, namespace, name })) ?? [];
      return own.map(({ reason, message }) => ({ kind, namespace, name, reason, message }));
    },
    problemCount: () => problems.size,
    close() {
      clearTimeout(later);
      if (scheduled) clearImmediate(scheduled);
    },
  };
}
