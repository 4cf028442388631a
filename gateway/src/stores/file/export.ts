/** Writes entities as a declarative file, as the file store would write them. */
import { collections, entityNameOf, kongPassword } from "@sluice/model";
import { withPasswordsAs } from "../passwords.ts";
import type { EntityLists } from "../read-all.ts";
import { editTree } from "./edit.ts";
import { createPrinter } from "./print.ts";
import { buildFileTree } from "./tree.ts";

/**
 * The file has the format 3.0, with children after their parents. Ids that follow from a name are left out. Ids of
 * nameless entities are written, because other software would generate different ids. Passwords in plain text are
 * written as hashes in the form of Kong; `_transform: false` declares that passwords are hashed.
 *
 * @param unavailable The reasons why plugins answer 503 (`_sluice.unavailable`), by the id of the plugin.
 */
export function declarativeText(lists: EntityLists, unavailable: ReadonlyMap<string, string> = new Map()): string {
  const data = { _format_version: "3.0", _transform: false };
  const hashed = withPasswordsAs(kongPassword, lists);
  const tree = buildFileTree({ data, document: data, origins: noOrigins });
  const effects = collections.flatMap((collection) =>
    (hashed[collection] ?? []).map((entity) => {
      const reason = collection === "plugins" ? unavailable.get(entity.id) : undefined;
      const after = reason === undefined ? entity : { ...entity, _sluice: { unavailable: reason } };
      return { collection, before: null, after, along: [] };
    }),
  );
  const touched = new Set<never>();
  editTree(tree, effects, touched);
  for (const node of tree.nodes.values()) {
    if (entityNameOf(node.collection, node.entity) === undefined)
      node.members = { id: node.entity.id, ...node.members };
  }
  return createPrinter(tree, '_format_version: "3.0"\n_transform: false\n')(touched);
}

const noOrigins = Object.fromEntries(collections.map((collection) => [collection, []])) as never;
