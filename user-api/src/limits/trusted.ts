/** The manifest of trusted documents: with it, only its documents are executed. */
import { isJsonObject } from "../json.ts";

export interface TrustedDocuments {
  readonly byId: ReadonlyMap<string, string>;
  readonly texts: ReadonlySet<string>;
}

/**
 * Reads a manifest: a JSON object of texts by their ids (Relay's format), or one with a list `operations` of `{ id,
 * body }` (the format of Apollo's tools).
 *
 * @returns the documents, or a sentence that describes the error.
 */
export function readTrustedDocuments(text: string): TrustedDocuments | string {
  const form = "it must be a JSON object that maps ids to documents, or one with a list operations of {id, body}";
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    return `it is not JSON (${error instanceof Error ? error.message : error}); ${form}`;
  }
  if (!isJsonObject(manifest)) return form;
  const entries: readonly (readonly [unknown, unknown])[] = Array.isArray(manifest.operations)
    ? manifest.operations.map((one) => (isJsonObject(one) ? [one.id, one.body] : [undefined, undefined]))
    : Object.entries(manifest);
  const byId = new Map<string, string>();
  for (const [id, body] of entries) {
    if (typeof id !== "string" || id === "" || typeof body !== "string") return form;
    byId.set(id, body);
  }
  return { byId, texts: new Set(byId.values()) };
}
