/** Replaces the id of a trusted document in a request by the document, for services that do not know ids. */
import { hash } from "node:crypto";
import { jsonObjectOf, jsonOf, textOfJsonObject } from "@sluice/plugin-sdk";

/** Members that name a document. */
const IDS = ["documentId", "id", "doc_id"];

/** Whether the extensions of a request have the hash of this document, which services compare with the document. */
const haveHashOf = (extensions: string | undefined, document: string): boolean => {
  const { persistedQuery } = Object(JSON.parse(extensions ?? "null"));
  return Object(persistedQuery).sha256Hash === hash("sha256", document);
};

/**
 * The body of a POST request with the document. Numbers in variables keep their digits.
 *
 * @param body A JSON object
 */
export function withDocument(body: Buffer, document: string): Buffer {
  const members = jsonObjectOf(body.toString("latin1")) ?? new Map<string, string>();
  for (const name of IDS) members.delete(name);
  const extensions = members.get("extensions");
  if (!haveHashOf(extensions && Buffer.from(extensions, "latin1").toString(), document)) members.delete("extensions");
  members.set("query", jsonOf(document));
  return Buffer.from(textOfJsonObject(members), "latin1");
}

/**
 * The query of a GET request with the document.
 *
 * @param query With its `?`
 */
export function urlWithDocument(query: string, document: string): string {
  const parameters = new URLSearchParams(query);
  for (const name of IDS) parameters.delete(name);
  if (!haveHashOf(parameters.get("extensions") ?? undefined, document)) parameters.delete("extensions");
  parameters.set("query", document);
  return `?${parameters}`;
}
