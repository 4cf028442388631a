/** Where the plugin graphql counts operations. */
import { encodedPath, read } from "../../api/client.ts";
import { entityTitle } from "../../api/collections.ts";
import { type EntityRecord, loadEntities } from "../../api/load-entities.ts";

export const PLUGIN = "graphql";

/** Maximum number of instances that are listed by name. Of the others, the page shows only the number. */
const MAX_NAMED = 50;

/** The entities to which an instance of the plugin is attached. */
interface CountedScope {
  /** The id of the plugin. */
  readonly plugin: string;
  readonly title: string;
}

export interface CountedScopes {
  readonly scopes: readonly CountedScope[];
  /** The number of further instances. */
  readonly others: number;
}

/** The members of a plugin that refer to other entities, with the collections of these. */
const collections = [
  ["service", "services"],
  ["route", "routes"],
  ["consumer", "consumers"],
  ["consumer_group", "consumer_groups"],
] as const;

export async function loadCountedScopes(signal: AbortSignal): Promise<CountedScopes> {
  const { entities } = await loadEntities("plugins", { signal });
  const instances = entities.filter(({ name, enabled }) => name === PLUGIN && enabled !== false);
  const named = instances.slice(0, MAX_NAMED);
  const scopes = await Promise.all(
    named.map(async (plugin) => ({ plugin: plugin.id, title: await scopeText(plugin) })),
  );
  return { scopes, others: instances.length - named.length };

  async function scopeText(plugin: EntityRecord): Promise<string> {
    const parts = collections.map(async ([member, collection]) => {
      const id: unknown = Object(plugin[member]).id;
      return typeof id === "string" ? `${member.replace("_", " ")} ${await nameOf(collection, id)}` : [];
    });
    const known = (await Promise.all(parts)).flat();
    return known.length === 0 ? "all routes" : known.join(" with ");
  }

  /** The name as in lists; the id if the entity no longer exists. */
  async function nameOf(collection: string, id: string): Promise<string> {
    const found = await read<EntityRecord>(`${collection}/${encodedPath(id)}`, signal).catch(() => undefined);
    return found ? entityTitle(collection, found) : id;
  }
}
