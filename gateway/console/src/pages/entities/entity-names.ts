/** The names of referenced entities, for tables. */
import { useEffect, useState } from "preact/hooks";
import { collectionViews, titleOf } from "../../api/collections.ts";
import { type EntityRecord, loadEntities } from "../../api/load-entities.ts";

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
      const collection = collectionViews.find((view) => view.path === path)?.collection ?? path;
      const { entities } = await loadEntities(path, { signal: abort.signal });
      return entities.map((entity): [string, string] => [entity.id, titleOf(collection, entity)]);
    };
    Promise.all(wanted.split(",").map((member) => load(member).catch(() => []))).then((all) => {
      if (!abort.signal.aborted) setNames(new Map(all.flat()));
    });
    return () => abort.abort();
  }, [wanted]);
  return names;
}
