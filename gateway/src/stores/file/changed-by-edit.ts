/** The entities that an edit of a file changed. */
import { type Collection, changeBetween, checkEntity, collections, type Entity, type Snapshot } from "@sluice/model";
import type { ServedFileContent } from "../../sources/file/file-source.ts";
import { netChanges } from "../revisions/net-changes.ts";
import type { EntityChange } from "../revisions/revisions.ts";
import type { Tables } from "../tables/index.ts";

interface FileVersion {
  readonly content: ServedFileContent;
  readonly snapshot: Snapshot;
}

/**
 * Compares the snapshots, which takes little time for a small edit of a large file. Then reads only the differing
 * entities from the texts, because snapshots have hashes instead of keys. Null if one of the texts can no longer be
 * read, because the plugins of this process have changed since then.
 *
 * @param earlier.before Tables of the earlier content, if they exist; null: its document is read.
 */
export function changedByEdit(
  earlier: FileVersion & { readonly before: Tables | null },
  later: FileVersion,
): readonly EntityChange[] | null {
  if ((earlier.before === null && !isReadable(earlier)) || !isReadable(later)) return null;
  const { put, remove } = changeBetween(earlier.snapshot, later.snapshot);
  return netChanges(
    collections.flatMap((collection) => {
      const written = put[collection]?.map((entity) => (entity as Entity).id) ?? [];
      const ids = [...written, ...(remove[collection] ?? [])];
      if (ids.length === 0) return [];
      const before = earlier.before ? earlier.before.rows[collection] : entitiesIn(earlier.content, collection, ids);
      const after = entitiesIn(later.content, collection, ids);
      return ids.map((id) => ({ collection, id, before: before.get(id) ?? null, after: after.get(id) ?? null }));
    }),
  );
}

function isReadable({ content }: FileVersion): boolean {
  try {
    content.loaded();
    return true;
  } catch {
    return false;
  }
}

function entitiesIn(
  content: ServedFileContent,
  collection: Collection,
  ids: readonly string[],
): ReadonlyMap<string, Entity> {
  const wanted = new Set(ids);
  return new Map(
    (content.loaded().document[collection] ?? []).flatMap((item) => {
      const { value } = wanted.has((item as Entity).id) ? checkEntity(collection, item) : {};
      if (!value) return [];
      const { _sluice: _, ...entity } = value as Entity & { readonly _sluice?: object };
      return [[entity.id, entity as Entity] as const];
    }),
  );
}
