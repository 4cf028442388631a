/** The GraphQL documents that a config of the plugin graphql names. A plugin can be created before its documents. */

export interface MissingDocuments {
  /** The names or ids that no GraphQL documents have, in the order of the config. */
  readonly names: readonly string[];
  /** Whether the plugin answers requests in its scope with 503 until they exist. */
  readonly closes: boolean;
}

/**
 * Null: the plugin is another one, or names no documents that do not exist.
 *
 * @param config Need not be valid
 * @param exists Whether GraphQL documents have this name or id
 */
export function missingGraphqlDocuments(
  { name, config }: { readonly name: unknown; readonly config?: unknown },
  exists: (nameOrId: string) => boolean,
): MissingDocuments | null {
  if (name !== "graphql") return null;
  const { enforce, trusted_documents: trusted } = Object(config);
  const { documents, mode } = Object(trusted);
  if (!Array.isArray(documents)) return null;
  const names = documents.filter((each) => typeof each === "string" && !exists(each));
  return names.length === 0 ? null : { names, closes: enforce !== false && mode !== "log" };
}

/** A sentence without a period. */
export const missingDocumentsText = ({ names, closes }: MissingDocuments): string =>
  `there are no GraphQL documents with the name or id ${names.join(" or ")}: ${effectOfMissing(closes)}`;

export const effectOfMissing = (closes: boolean): string =>
  closes
    ? "requests in the scope of the plugin are answered with 503 until they exist"
    : "the documents count as not trusted until they exist";
