/**
 * Trusted documents: the documents of a service's own clients, from the list that the build of a client writes. Two
 * formats are read: Apollo's persisted query manifest, and the map from ids to texts that Relay's compiler writes.
 */
import { hash } from "node:crypto";
import { isRecord } from "@sluice/plugin-sdk";
import { parse } from "graphql/language/parser.js";

const APOLLO = "apollo-persisted-query-manifest";

/** Texts of documents by their ids. */
type DocumentTexts = ReadonlyMap<string, string>;

/** The texts, of which the syntax is not checked, or why the manifest is refused. */
type ManifestReading = { readonly texts: DocumentTexts } | { readonly violation: string };

function readManifest(json: string): ManifestReading {
  let manifest: unknown;
  try {
    manifest = JSON.parse(json);
  } catch {
    return {
      violation: "must be JSON: a persisted query manifest, or an object with the texts of documents by their ids",
    };
  }
  if (!isRecord(manifest)) return { violation: "must be a JSON object" };
  const entries = "format" in manifest ? apolloEntries(manifest) : Object.entries(manifest);
  if (typeof entries === "string") return { violation: entries };
  const texts = new Map<string, string>();
  for (const [id, text] of entries) {
    if (typeof id !== "string" || typeof text !== "string" || id === "")
      return { violation: "each document must have an id and a text" };
    if (texts.has(id)) return { violation: `two documents have the id ${id}` };
    texts.set(id, text);
  }
  return { texts };
}

function apolloEntries({ format, version, operations }: Readonly<Record<string, unknown>>) {
  if (format !== APOLLO) return `the format must be ${APOLLO}`;
  if (version !== 1) return "the version of the manifest must be 1";
  if (!Array.isArray(operations)) return "operations must be a list";
  return operations.map((operation: unknown): readonly [unknown, unknown] => {
    const { id, body } = Object(operation);
    return [id, body];
  });
}

/** Why the config's check refuses the manifest; null: it does not. */
export function manifestViolation(json: string): string | null {
  const read = readManifest(json);
  if ("violation" in read) return read.violation;
  for (const [id, text] of read.texts) {
    try {
      parse(text, { noLocation: true });
    } catch (error) {
      return `the document ${id} is invalid: ${(error as Error).message}`;
    }
  }
  return null;
}

export class TrustedDocumentList {
  readonly #texts: DocumentTexts;
  readonly #byHash: DocumentTexts;

  /** @param manifest A manifest that the config's check has accepted */
  constructor(manifest: string) {
    const read = readManifest(manifest);
    if ("violation" in read) throw new Error(`the manifest ${read.violation}`);
    this.#texts = read.texts;
    this.#byHash = new Map([...read.texts.values()].map((text) => [hash("sha256", text), text]));
  }

  /** The text of the document with this id in the manifest, or with this SHA-256 in hex digits. */
  textOf(id: string, sha256: string | null): string | undefined {
    return this.#texts.get(id) ?? (sha256 === null ? undefined : (this.#texts.get(sha256) ?? this.#byHash.get(sha256)));
  }

  /** Whether a document with this hash is trusted, whatever its id. */
  hasHash(sha256: string): boolean {
    return this.#byHash.has(sha256);
  }
}
