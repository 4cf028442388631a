/** The members of entities as texts in tables: references by name, and times as dates. */
import { useEffect, useState } from "preact/hooks";
import { entityTitle, viewAt } from "../../api/collections.ts";
import { type EntityRecord, loadEntities } from "../../api/load-entities.ts";
import { formatTime, formatValue } from "../../parts/format.ts";

/** The collections that members refer to. */
const referenced: Readonly<Record<string, string>> = {
  service: "services",
  route: "routes",
  consumer: "consumers",
  certificate: "certificates",
  ca_certificate: "ca_certificates",
};

/**
 * The names of the entities that the rows refer to, by id. Empty at first; a collection that the caller may not read
 * stays without names.
 */
export function useNames(rows: readonly EntityRecord[], columns: readonly string[]): ReadonlyMap<string, string> {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  const wanted = columns.filter((member) => referenced[member] !== undefined && rows.some((row) => row[member])).join();
  useEffect(() => {
    if (wanted === "") return;
    const abort = new AbortController();
    const load = async (member: string) => {
      const path = referenced[member] ?? "";
      const collection = viewAt(path)?.collection ?? path;
      const { entities } = await loadEntities(path, { signal: abort.signal });
      return entities.map((entity): [string, string] => [entity.id, entityTitle(collection, entity)]);
    };
    Promise.all(wanted.split(",").map((member) => load(member).catch(() => []))).then((all) => {
      if (!abort.signal.aborted) setNames(new Map(all.flat()));
    });
    return () => abort.abort();
  }, [wanted]);
  return names;
}

/** The titles of columns that differ from the name of their member. */
const columnTitles: Readonly<Record<string, string>> = { created_at: "created", ttl: "expires" };

export const columnTitle = (member: string): string => columnTitles[member] ?? member;

/** The health of a target in words. */
const healthTexts: Readonly<Record<string, string>> = {
  HEALTHY: "healthy",
  UNHEALTHY: "unhealthy",
  DNS_ERROR: "unhealthy (its name cannot be resolved)",
  HEALTHCHECKS_OFF: "not checked",
};

export function memberText(member: string, entity: EntityRecord, names: ReadonlyMap<string, string>): string {
  const value = entity[member];
  // The admin API has times in seconds, with fractions for some collections, and `ttl` as the seconds that are left.
  // An entity has 0 if it comes from a file that has no creation time for it.
  if (typeof value === "number" && member.endsWith("_at")) return value === 0 ? "–" : formatTime(value * 1000);
  if (member === "health") return healthTexts[String(value)] ?? "not known";
  if (member === "ttl") return typeof value === "number" ? formatTime(Date.now() + value * 1000) : "never";
  if (typeof value !== "object" || value === null || !("id" in value)) return formatValue(value);
  const id = String(value.id);
  return names.get(id) ?? id;
}

/** The page of the entity to which the member refers; undefined for another member. */
export function referencedPage(member: string, entity: EntityRecord): readonly string[] | undefined {
  const path = referenced[member];
  const { id } = Object(entity[member]) as { readonly id?: string };
  return path === undefined || id === undefined ? undefined : ["entities", path, id];
}
