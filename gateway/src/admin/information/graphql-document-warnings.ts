/** Plugins whose GraphQL documents do not exist. In a cluster, the condition ResolvedRefs of the Plugin reports them. */
import { effectOfMissing, missingGraphqlDocuments } from "@sluice/model";
import { readCollection } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";
import type { ServedWarning } from "./certificate-warnings.ts";

export async function graphqlDocumentWarnings(store: Pick<Store, "list">): Promise<readonly ServedWarning[]> {
  const plugins = await readCollection(store, "plugins");
  const naming = plugins.filter((plugin) => plugin.enabled && missingGraphqlDocuments(plugin, () => false) !== null);
  if (naming.length === 0) return [];
  const documents = await readCollection(store, "graphql_documents");
  const known = new Set(documents.flatMap(({ id, name }) => [id, name]));
  return naming.flatMap((plugin): readonly ServedWarning[] => {
    const missing = missingGraphqlDocuments(plugin, (nameOrId) => known.has(nameOrId));
    if (missing === null) return [];
    return [
      {
        subject: `plugin ${plugin.instance_name ?? `graphql ${plugin.id}`}`,
        message: `names GraphQL documents that do not exist (${missing.names.join(", ")}): ${effectOfMissing(missing.closes)}`,
        remedy: "Add the documents to graphql_documents, or correct trusted_documents.documents of the plugin.",
        entity: { collection: "plugins", id: plugin.id },
      },
    ];
  });
}
