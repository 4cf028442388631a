/** Reads the entities by which a plan compares requests. */
import {
  type Collection,
  collections,
  credentialCollections,
  type Entity,
  type Plugin,
  perCollection,
  referencedId,
} from "@sluice/model";
import { type EntityLists, readPages } from "../../stores/read-all.ts";
import type { ReferenceFilter } from "../../stores/store.ts";
import type { EntityReader } from "../requests.ts";
import { anonymousConsumerOf, type EntityPair } from "./affected-routes.ts";

/** If there are more than about this number of entities of a collection, a plan has no sample requests. */
const MAX_READ = 20_000;
/** Maximum number of consumers, and of members of an affected consumer group. */
const MAX_CONSUMERS = 20;
const MAX_MEMBERS = 5;

/** There may be many of these, so only those of the affected consumers are read. */
const ofConsumers: ReadonlySet<Collection> = new Set<Collection>([
  "consumers",
  "acls",
  "consumer_group_consumers",
  ...credentialCollections,
]);

/** Null: there are too many entities. */
export async function readForPlan(store: EntityReader, pairs: readonly EntityPair[]): Promise<EntityLists | null> {
  const lists = new Map<Collection, readonly Entity[]>();
  for (const collection of collections) {
    if (ofConsumers.has(collection)) continue;
    const all = await readUpTo(store, collection);
    if (all === null) return null;
    lists.set(collection, all);
  }
  const plugins = (lists.get("plugins") ?? []) as readonly Plugin[];
  const wanted = await affectedConsumers(store, pairs, plugins);
  const consumers = await Promise.all(wanted.slice(0, MAX_CONSUMERS).map((id) => store.find("consumers", { id })));
  const found = consumers.filter((consumer) => consumer !== null);
  lists.set("consumers", found);
  for (const collection of collections) {
    if (!ofConsumers.has(collection) || collection === "consumers") continue;
    const own = await Promise.all(found.map(({ id }) => readUpTo(store, collection, { member: "consumer", id })));
    lists.set(
      collection,
      own.flatMap((list) => list ?? []),
    );
  }
  return perCollection((collection) => lists.get(collection) ?? []) as Partial<
    Record<Collection, readonly Entity[]>
  > as EntityLists;
}

async function readUpTo(
  store: EntityReader,
  collection: Collection,
  where?: ReferenceFilter,
): Promise<readonly Entity[] | null> {
  const all: Entity[] = [];
  for await (const page of readPages(store, collection, where && { where })) {
    if (all.length > MAX_READ) return null;
    all.push(...page);
  }
  return all;
}

/** Ids of consumers: the anonymous consumers of plugins, those that the writes are about, and members of groups. */
async function affectedConsumers(
  store: EntityReader,
  pairs: readonly EntityPair[],
  plugins: readonly Plugin[],
): Promise<readonly string[]> {
  const versions = pairs.flatMap(({ collection, before, after }) =>
    [before, after].flatMap((entity) => (entity === null ? [] : [{ collection, entity }])),
  );
  const ids = new Set<string>();
  const changed = versions.flatMap(({ collection, entity }) => (collection === "plugins" ? [entity as Plugin] : []));
  // First, because the number is limited: without its anonymous consumer, a plugin refuses all samples.
  for (const name of new Set([...plugins, ...changed].flatMap((plugin) => anonymousConsumerOf(plugin) ?? []))) {
    const consumer =
      (await store.find("consumers", { id: name })) ??
      (await store.find("consumers", { member: "username", value: name }));
    if (consumer !== null) ids.add(consumer.id);
  }
  for (const { collection, entity } of versions) {
    const id = consumerOf(collection, entity);
    if (id !== undefined) ids.add(id);
  }
  const groups = new Set(versions.flatMap(({ entity }) => referencedId(entity, "consumer_group") ?? []));
  for (const id of groups) {
    const options = { size: MAX_MEMBERS, where: { member: "consumer_group", id } };
    for (const member of (await store.list("consumer_group_consumers", options)).entities) ids.add(member.consumer.id);
  }
  return [...ids];
}

const consumerOf = (collection: Collection, entity: Entity): string | undefined =>
  collection === "consumers" ? entity.id : referencedId(entity, "consumer");
