/** Reads entities from the admin API, with the names of the entities that they refer to. */
import { type Collection, type Entity, entities, entityNameOf, isSecretLookup, references } from "@sluice/model";
import type { EntityOrigin, StoreProblem } from "../../stores/store.ts";
import { CommandError } from "../command.ts";
import type { AdminConnection } from "./admin-connection.ts";

export type EntityMembers = Entity & Readonly<Record<string, unknown>>;

const segmentOf = (collection: Collection): string => entities[collection].credential?.segments.top ?? collection;

interface Page {
  readonly data: readonly EntityMembers[];
  readonly next: string | null;
}

/** All entities of a collection, or those with a tag. */
export async function readEntities(
  admin: AdminConnection,
  collection: Collection,
  tag?: string,
): Promise<readonly EntityMembers[]> {
  const found: EntityMembers[] = [];
  const tags = tag === undefined ? "" : `&tags=${encodeURIComponent(tag)}`;
  for (let next: string | null = `/${segmentOf(collection)}?size=1000${tags}`; next !== null; ) {
    const page: Page | null = await admin.read<Page>(next);
    found.push(...(page?.data ?? []));
    next = page?.next ?? null;
  }
  return found;
}

/**
 * The entity with this name or id, or the one that the custom resource `NAMESPACE/NAME` contains.
 *
 * @throws CommandError if there is no such entity. For a resource that is not served, the error has the reasons.
 */
export async function readEntity(admin: AdminConnection, collection: Collection, name: string): Promise<EntityMembers> {
  const named = await admin.read<EntityMembers>(`/${segmentOf(collection)}/${encodeURIComponent(name)}`);
  const entity =
    named ??
    (name.includes("/") ? await readEntityOf(admin, collection, name) : null) ??
    (collection === "plugins" ? await readPluginNamed(admin, name) : null);
  if (entity) return entity;
  const reasons = await problemsOf(admin, collection, name);
  throw new CommandError(`${admin.url} has no ${entities[collection].singular} '${name}'`, reasons);
}

/** The only instance of the plugin with this name. @throws CommandError if there are several. */
async function readPluginNamed(admin: AdminConnection, name: string): Promise<EntityMembers | null> {
  const found = (await readEntities(admin, "plugins")).filter((plugin) => plugin.name === name);
  const [only = null] = found;
  if (found.length <= 1) return only;
  const references = await referencesOf(admin, "plugins", found);
  throw new CommandError(
    `there are ${found.length} plugins '${name}': name one by its id`,
    found.map(({ id }, index) => `${id}  ${references[index]?.join(", ") || "all requests"}`),
  );
}

/** An entity by its custom resource: `NAMESPACE/NAME`, as origins and problems are printed. */
async function readEntityOf(
  admin: AdminConnection,
  collection: Collection,
  resource: string,
): Promise<EntityMembers | null> {
  for (const entity of await readEntities(admin, collection)) {
    const origin = await admin.read<EntityOrigin>(`/origins/${collection}/${entity.id}`);
    if (origin?.in === "resource" && `${origin.resource.namespace}/${origin.resource.name}` === resource) return entity;
  }
  return null;
}

/** The problems of the custom resource that has this name, with or without its namespace. */
async function problemsOf(admin: AdminConnection, collection: Collection, name: string): Promise<readonly string[]> {
  const kind = entities[collection].singular.replaceAll("_", "");
  const problems = await admin.read<{ readonly data: readonly StoreProblem[] }>("/problems");
  return (problems?.data ?? []).flatMap(({ resource, condition, reason, message }) => {
    if (resource === null || resource.kind.toLowerCase() !== kind) return [];
    const { namespace, name: own } = resource;
    if (![own, `${namespace}/${own}`, `${namespace}.${own}`].includes(name)) return [];
    return [`${resource.kind} ${namespace}/${own}: ${condition}: ${reason}: ${message}`];
  });
}

/** The name by which people know an entity. A key by which an entity is found is a secret, and is not shown. */
export function entityLabel(collection: Collection, entity: EntityMembers): string {
  if (isSecretLookup(collection)) return entity.id;
  const name = entityNameOf(collection, entity);
  return name ?? (collection === "plugins" ? String(entity.name) : entity.id);
}

/** For each entity, the entities that it refers to: `service shop`. */
export async function referencesOf(
  admin: AdminConnection,
  collection: Collection,
  given: readonly EntityMembers[],
): Promise<readonly (readonly string[])[]> {
  const targets = references[collection].filter(({ member }) => given.some((entity) => referenceIdOf(entity, member)));
  const names = new Map<string, string>();
  for (const to of new Set(targets.map((reference) => reference.to))) {
    for (const entity of await readEntities(admin, to)) names.set(entity.id, entityLabel(to, entity));
  }
  return given.map((entity) =>
    targets.flatMap(({ member }) => {
      const id = referenceIdOf(entity, member);
      return id === undefined ? [] : [`${member} ${names.get(id) ?? id}`];
    }),
  );
}

/** The id that a member refers to, if it is set. */
export function referenceIdOf(entity: EntityMembers, member: string): string | undefined {
  const { id } = Object(entity[member]) as { readonly id?: unknown };
  return typeof id === "string" ? id : undefined;
}
