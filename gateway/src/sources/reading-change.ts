/** What a node changes to serve what was read of a file in another process. */
import { isDeepStrictEqual } from "node:util";
import { byId, type Change, collections, type Snapshot } from "@sluice/model/serving";
import type { Reading } from "./read-file.ts";

/** Entities that stay as they were are left out, so that the node goes on with all that it made for them. */
export function changeOf(previous: Snapshot, { put, endpoints, places }: Reading): Change {
  const isTold = (id: string): boolean => places?.has(byId(id)) ?? true;
  const gone = (held: ReadonlyMap<string, unknown>, stays: ReadonlySet<string>): readonly string[] =>
    [...held.keys()].filter((id) => isTold(id) && !stays.has(id));
  const entities = collections.map((name) => {
    const told = (put[name] ?? []) as readonly { readonly id: string }[];
    const changed = told.filter((entity) => !isDeepStrictEqual(previous[name].get(entity.id), entity));
    return { name, changed, gone: gone(previous[name], new Set(told.map(({ id }) => id))) };
  });
  const silent = gone(previous.endpoints, new Set(Object.keys(endpoints)));
  return {
    put: Object.fromEntries(entities.map(({ name, changed }) => [name, changed])),
    remove: Object.fromEntries(entities.map((one) => [one.name, one.gone])),
    endpoints: { ...endpoints, ...Object.fromEntries(silent.map((id) => [id, null])) },
  };
}
