/** The store over custom resources: in a cluster or in a directory, whatever the client reads and writes. */
import {
  identityOf,
  isSeen,
  keyOf,
  type Log,
  type Resource,
  type ResourceClient,
  type ResourceCollection,
} from "@sluice/crds";
import {
  type Collection,
  type Credential,
  DEFAULT_CLASS,
  type Entities,
  type Entity,
  type WaitAnswer,
  type Written,
} from "@sluice/model";
import { type Effect, type Lookup, type Store, Unavailable } from "../store.ts";
import { claimKey } from "../tables/index.ts";
import { type Attempt, refused, type WriteContext } from "./context.ts";
import { clashOf, createResource } from "./create.ts";
import { createCredential, removeCredential } from "./credential.ts";
import { followResources } from "./live.ts";
import { createTranslateOne, remember } from "./remember.ts";
import { removeResources } from "./remove.ts";
import { createTurns } from "./turns.ts";
import { buildView, type Held, type View, type WatchedKind } from "./view.ts";

export interface ResourceStoreOptions {
  readonly client: ResourceClient;
  /** Where resources are written that refer to nothing, and keys always. */
  readonly homeNamespace: string;
  /** Which Sluice's resources are meant. */
  readonly class: string;
  readonly log: Log;
  /** Asks the operator; null when it gives no answer. */
  readonly awaitNodes: (written: readonly Written[], timeout: number) => Promise<WaitAnswer | null>;
  /** Ends the watches. The client is the caller's to close. */
  readonly signal: AbortSignal;
}

/** Milliseconds that a call waits for the first list of all kinds, and a write for its own watch event. */
const patience = 5000;

export function createResourceStore(options: ResourceStoreOptions): Store {
  const { client, homeNamespace, log, signal } = options;
  const viewOptions = {
    class: options.class,
    translateOne: createTranslateOne(homeNamespace),
    idOf: remember((resource: Resource) => identityOf(resource, homeNamespace).id),
  };
  const inTurn = createTurns();
  let built: View | undefined;
  const live = followResources({
    client,
    homeNamespace,
    log,
    signal,
    onChange: () => {
      built = undefined;
    },
  });

  async function view(): Promise<View> {
    if (!(await live.until(() => live.unsynced().length === 0, patience))) {
      throw new Unavailable(`resources cannot be read for now: ${live.unsynced().join(", ")}`);
    }
    built ??= buildView(live.resources, viewOptions);
    return built;
  }

  const context = (before: View): WriteContext => ({
    client,
    homeNamespace,
    class: options.class === DEFAULT_CLASS ? undefined : options.class,
    view: before,
  });

  /** Whoever reads after a write must see it; a watch that lags behind for long must not hold up the writer for ever. */
  async function settle(awaits: readonly Written[]): Promise<void> {
    const held = ({ kind, namespace, name }: Written) =>
      live.resources[kind as WatchedKind].get(keyOf(namespace, name));
    const seen = () => awaits.every((written) => isSeen(held(written), written));
    if (!(await live.until(seen, patience))) log.warn({ awaits }, "a write is not yet to be seen in what is read back");
  }

  async function write<Value>(run: (before: View) => Promise<Attempt<Value>>): Promise<Attempt<Value>> {
    return inTurn(async () => {
      const attempt = await run(await view());
      if (attempt.fault) return { fault: attempt.fault };
      await settle(attempt.awaits);
      return attempt;
    });
  }

  async function create(collection: Collection, entity: Entity): Promise<Attempt<Effect>> {
    const outcome = await write<undefined>(async (before) => {
      const fault = clashOf(before, collection, entity);
      if (fault) return { fault };
      return collection === "keyauth_credentials"
        ? createCredential(context(before), entity as Credential)
        : createResource(context(before), collection as ResourceCollection, entity as never);
    });
    if (outcome.fault) return outcome;
    // As every later reader sees it; the entity itself if the watch lags behind.
    const held = lookUp(await view(), collection, { id: entity.id });
    const effect = { collection, before: null, after: held?.entity ?? entity, along: [] };
    return { value: effect, awaits: outcome.awaits };
  }

  const remove = (collection: Collection, by: Lookup, force: boolean): Promise<Attempt<Effect>> =>
    write<Effect>(async (before) => {
      const held = lookUp(before, collection, by) ?? before.faulty.get(claimKey(collection, asClaim(by)));
      if (!held) return { value: { collection, before: null, after: null, along: [] }, awaits: [] };
      const removed = await (collection === "keyauth_credentials"
        ? removeCredential(context(before), held)
        : removeResources(context(before), { collection, held }, { force }));
      if (removed.fault) return removed;
      return { value: { collection, before: held.entity, after: null, along: [] }, awaits: removed.awaits };
    });

  return {
    async list(collection, { size, after, where }) {
      const now = Date.now();
      const found = (await view())
        .sorted(collection)
        .filter(
          ({ entity }) =>
            (after === undefined || entity.id > after) &&
            (where === undefined || memberOf(entity, where.member)?.id === where.id) &&
            !isExpired(collection, entity, now),
        );
      return { entities: found.slice(0, size).map(({ entity }) => entity as never), more: found.length > size };
    },

    async find(collection, by) {
      const held = lookUp(await view(), collection, by);
      if (!held || isExpired(collection, held.entity, Date.now())) return null;
      return held.entity as Entities[typeof collection];
    },

    async write(writes, { force = false } = {}) {
      const effects: Effect[] = [];
      const awaits: Written[] = [];
      for (const [index, one] of writes.entries()) {
        const outcome = await (one.op === "create"
          ? create(one.collection, one.entity)
          : one.op === "remove"
            ? remove(one.collection, one.by, force)
            : Promise.resolve<Attempt<Effect>>({ fault: refused("resources cannot be changed yet") }));
        if (outcome.fault) return { fault: outcome.fault, index };
        effects.push(outcome.value);
        awaits.push(...outcome.awaits);
      }
      const programmed = (timeout: number) => options.awaitNodes(awaits, timeout);
      return awaits.length === 0 ? { effects } : { effects, programmed };
    },

    unready: live.unsynced,
  };
}

function lookUp(view: View, collection: Collection, by: Lookup): Held | undefined {
  if ("id" in by) return view.byId[collection].get(by.id);
  return view.byClaim.get(claimKey(collection, asClaim(by)));
}

const asClaim = (by: Lookup) => ("id" in by ? { id: by.id } : { [by.member]: by.value });

const memberOf = (entity: Entity, member: string) =>
  (entity as unknown as Readonly<Record<string, { readonly id: string } | null>>)[member];

/** As the nodes count it. */
function isExpired(collection: Collection, entity: Entity, now: number): boolean {
  if (collection !== "keyauth_credentials") return false;
  const { ttl, created_at } = entity as Credential;
  return ttl !== null && (created_at + ttl) * 1000 <= now;
}
