/**
 * Finds the operations of a request: GraphQL over HTTP, with persisted documents, Apollo's persisted queries and
 * batches.
 */
import type { ExchangeRequest } from "@sluice/plugin-sdk";
import { type DefinedOperation, DocumentCache, MAX_DOCUMENT } from "./documents.ts";
import { UNKNOWN_OPERATION, UNNAMED_OPERATION } from "./operation-names.ts";

/** An operation under the name by which it is counted. */
export interface NamedOperation {
  readonly type: DefinedOperation["type"] | "unknown";
  /** In parentheses if the client has sent no name. */
  readonly name: string;
}

const unknown: NamedOperation = { type: "unknown", name: UNKNOWN_OPERATION };
const unreadable: readonly NamedOperation[] = [unknown];

/** Larger batches are counted as one unknown operation. */
const MAX_BATCH = 100;
const NAME = /^[_a-z]\w{0,127}$/i;
const SHA256 = /^[\da-f]{64}$/i;
const DOCUMENT_ID = /^[\w.:+/=-]{1,128}$/;
/** Digits of a hash that are shown instead of a name. */
const SHOWN_DIGITS = 12;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The parameters of a request, whose types are not checked. */
interface Parameters {
  readonly query?: unknown;
  readonly operationName?: unknown;
  /** The id of a persisted document (GraphQL over HTTP, appendix A). */
  readonly documentId?: unknown;
  readonly extensions?: unknown;
}

export class OperationReader {
  readonly #documents = new DocumentCache();
  readonly #maxBody: number;

  /** @param maxBody Maximum bytes of a body */
  constructor(maxBody: number) {
    this.#maxBody = maxBody;
  }

  /** Null: the request is not for GraphQL, but for example for a page, or it is a preflight or an upgrade. */
  read(request: ExchangeRequest): readonly NamedOperation[] | null | Promise<readonly NamedOperation[]> {
    if (request.method === "GET") return this.#inQuery(request.query);
    if (request.method !== "POST") return null;
    const [given = "", ...others] = request.headerValues("content-type");
    const type = given.split(";", 1)[0]?.trim().toLowerCase();
    const isDocument = type === "application/graphql";
    const isReadable = others.length === 0 && (isDocument || type === "application/json");
    if (!isReadable || request.header("content-encoding") !== undefined) return unreadable;
    return request.body(this.#maxBody).then((bytes) => {
      const text = bytes === null ? null : textOf(bytes);
      if (text === null) return unreadable;
      return isDocument ? [this.#operationOf({ query: text })] : this.#inJson(text);
    });
  }

  #inQuery(query: string): readonly NamedOperation[] | null {
    if (query.length < 2) return null;
    const parameters = Object.fromEntries(new URLSearchParams(query));
    const { query: document, documentId, extensions } = parameters;
    if (document === undefined && documentId === undefined && extensions === undefined) return null;
    return [this.#operationOf({ ...parameters, extensions: parsed(extensions ?? "null") })];
  }

  #inJson(text: string): readonly NamedOperation[] {
    const value = parsed(text);
    if (!Array.isArray(value)) return [this.#operationOf(Object(value))];
    if (value.length === 0 || value.length > MAX_BATCH) return unreadable;
    return value.map((each) => this.#operationOf(Object(each)));
  }

  #operationOf({ query, operationName, documentId, extensions }: Parameters): NamedOperation {
    const name = operationName === null || operationName === "" ? undefined : operationName;
    if (name !== undefined && (typeof name !== "string" || !NAME.test(name))) return unknown;
    if (typeof query === "string" && query !== "") {
      if (query.length > MAX_DOCUMENT) return { type: "unknown", name: name ?? UNKNOWN_OPERATION };
      return chosen(this.#documents.of(query), name);
    }
    const { persistedQuery } = Object(extensions);
    const id: unknown = documentId ?? Object(persistedQuery).sha256Hash;
    if (typeof id !== "string" || !DOCUMENT_ID.test(id)) return unknown;
    const sha256 = id.replace(/^sha256:/, "").toLowerCase();
    const known = this.#documents.withHash(sha256);
    if (known !== undefined) return chosen(known, name);
    return { type: "unknown", name: name ?? (SHA256.test(sha256) ? `(${sha256.slice(0, SHOWN_DIGITS)})` : `(${id})`) };
  }
}

/** The operation that a service executes; services refuse other combinations of document and name. */
function chosen(operations: readonly DefinedOperation[], name: string | undefined): NamedOperation {
  const [found, ...others] = operations.filter((one) => name === undefined || one.name === name);
  if (found === undefined || others.length > 0) return unknown;
  return { type: found.type, name: found.name ?? UNNAMED_OPERATION };
}

function textOf(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
