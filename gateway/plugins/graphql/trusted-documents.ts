/**
 * Trusted documents: the documents of a service's own clients, from the list that the build of a client writes. Two
 * formats are read: Apollo's persisted query manifest, and the map from ids to texts that Relay's compiler writes.
 */
import { hash } from "node:crypto";
import { type Exchange, type ExchangeGraphqlDocuments, isRecord } from "@sluice/plugin-sdk";
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

/** The documents of one manifest. */
class DocumentList {
  readonly #texts: DocumentTexts;
  readonly #byHash: DocumentTexts;

  /** @param manifest A manifest that has been checked */
  constructor(manifest: string) {
    const read = readManifest(manifest);
    if ("violation" in read) throw new Error(`the manifest ${read.violation}`);
    this.#texts = read.texts;
    this.#byHash = new Map([...read.texts.values()].map((text) => [hash("sha256", text), text]));
  }

  textOf(id: string, sha256: string | null): string | undefined {
    return this.#texts.get(id) ?? (sha256 === null ? undefined : (this.#texts.get(sha256) ?? this.#byHash.get(sha256)));
  }

  hasHash(sha256: string): boolean {
    return this.#byHash.has(sha256);
  }
}

/** The documents that a config trusts, as long as no entity that it names changes. */
export class TrustedDocumentLists {
  readonly #lists: readonly DocumentList[];

  constructor(lists: readonly DocumentList[]) {
    this.#lists = lists;
  }

  /** The text of the document with this id in a manifest, or with this SHA-256 in hex digits. */
  textOf(id: string, sha256: string | null): string | undefined {
    for (const list of this.#lists) {
      const text = list.textOf(id, sha256);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  /** Whether a document with this hash is trusted, whatever its id. */
  hasHash(sha256: string): boolean {
    return this.#lists.some((list) => list.hasHash(sha256));
  }
}

/** The lists of entities, for all instances of the plugin in the worker: entities are replaced, never changed. */
const listsOfEntities = new WeakMap<ExchangeGraphqlDocuments, DocumentList>();

const listOf = ({ manifest }: ExchangeGraphqlDocuments): DocumentList => new DocumentList(manifest);

interface FoundDocuments {
  /** The entities that the config names, in its order. */
  readonly found: readonly ExchangeGraphqlDocuments[];
  readonly trusted: TrustedDocumentLists;
}

/** Finds the trusted documents of a config in the runtime of an exchange. */
export class TrustedDocumentSource {
  readonly #names: readonly string[];
  readonly #own: readonly DocumentList[];
  #last: FoundDocuments | null = null;

  /** @param documents Names or ids of entities */
  constructor({
    manifest,
    documents,
  }: { readonly manifest: string | null; readonly documents: readonly string[] | null }) {
    this.#names = documents ?? [];
    this.#own = manifest === null ? [] : [new DocumentList(manifest)];
  }

  /** The trusted documents: the same object until they change. `missing` has the names that no entity has. */
  in(exchange: Pick<Exchange, "graphqlDocuments">): {
    readonly trusted: TrustedDocumentLists;
    readonly missing: string[];
  } {
    const missing: string[] = [];
    const found = this.#names.flatMap((name) => {
      const documents = exchange.graphqlDocuments(name);
      if (documents === undefined) missing.push(name);
      return documents ?? [];
    });
    const last = this.#last;
    if (last?.found.length === found.length && found.every((documents, at) => documents === last.found[at]))
      return { trusted: last.trusted, missing };
    const lists = found.map((documents) => listsOfEntities.getOrInsertComputed(documents, listOf));
    const trusted = new TrustedDocumentLists([...this.#own, ...lists]);
    this.#last = { found, trusted };
    return { trusted, missing };
  }
}
