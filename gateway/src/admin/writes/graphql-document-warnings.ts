/** Warnings about GraphQL documents that a plugin names, and that do not exist after a write. */
import {
  type Entity,
  type GraphqlDocuments,
  missingDocumentsText,
  missingGraphqlDocuments,
  type Plugin,
} from "@sluice/model";
import { readCollection } from "../../stores/read-all.ts";
import type { Effect } from "../../stores/store.ts";
import { isId } from "../entities/resolve-url.ts";
import type { EntityReader } from "../requests.ts";

/**
 * Warnings about written plugins, and about those whose documents the writes remove or rename.
 *
 * @param effects Of writes that have been stored, or are only planned
 */
export async function graphqlDocumentWarningsOf(
  effects: readonly Effect[],
  store: EntityReader,
): Promise<readonly string[]> {
  const documents = effects.filter(({ collection }) => collection === "graphql_documents");
  const added = new Set(documents.flatMap(({ after }) => keysOf(after)));
  const removed = new Set(documents.flatMap(({ before }) => keysOf(before))).difference(added);
  const written = effects.flatMap(({ collection, after }) =>
    collection === "plugins" && after ? (after as Plugin) : [],
  );
  const writtenIds = new Set(written.map(({ id }) => id));
  const others = (removed.size === 0 ? [] : await readCollection(store, "plugins")).filter(
    (plugin) => !writtenIds.has(plugin.id) && namesOf(plugin).some((name) => removed.has(name)),
  );
  const exists = async (name: string) => added.has(name) || (!removed.has(name) && (await isStored(name, store)));
  const warnings = [...written, ...others].map(async (plugin) => {
    const names = namesOf(plugin);
    const areStored = await Promise.all(names.map(exists));
    const missing = missingGraphqlDocuments(plugin, (name) => areStored[names.indexOf(name)] === true);
    if (!plugin.enabled || missing === null) return [];
    return `plugin graphql ${plugin.instance_name ?? plugin.id}: ${missingDocumentsText(missing)}`;
  });
  return (await Promise.all(warnings)).flat();
}

/** What plugins may call the documents. */
const keysOf = (documents: Entity | null): readonly string[] =>
  documents === null ? [] : [documents.id, (documents as GraphqlDocuments).name];

const namesOf = (plugin: Plugin): readonly string[] => missingGraphqlDocuments(plugin, () => false)?.names ?? [];

async function isStored(name: string, store: EntityReader): Promise<boolean> {
  if (await store.find("graphql_documents", { member: "name", value: name })) return true;
  return isId(name) && (await store.find("graphql_documents", { id: name })) !== null;
}
