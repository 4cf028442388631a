/** The entities of a document, with defaults filled in. */
import { checkEntity, collections, type LoadedDocument } from "@sluice/model";
import type { EntityLists } from "../../stores/read-all.ts";

/** The document must be valid. Members under `_sluice` are left out: stores cannot hold them. */
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
