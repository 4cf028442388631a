/** The entities of a document, filled. */
import { checkEntity, collections, type LoadedDocument } from "@sluice/model";
import type { EntityLists } from "../../stores/difference.ts";

/** The document must be a good one. What stands under `_sluice` is left out: stores have no place for it. */
export function entitiesOf({ document }: Pick<LoadedDocument, "document">): EntityLists {
  const lists = collections.map((collection) => [
    collection,
    (document[collection] ?? []).flatMap((item) => {
      const { _sluice: _, ...entity } = Object(checkEntity(collection, item, { database: true }).value);
      return [entity];
    }),
  ]);
  return Object.fromEntries(lists);
}
