/**
 * Finds the operations of a request: GraphQL over HTTP, with persisted documents, Apollo's persisted queries and
 * batches. A refusal is the reason why the request is not within the limits, or cannot be read; such a request still has
 * operations, under which it is counted.
 */
import { type Exchange, type ExchangeRequest, hasRequestBody, isRecord } from "@sluice/plugin-sdk";
import type { ServiceSchema } from "./cost/service-schema.ts";
import { evaluateCost, type OperationVariables } from "./cost/static-cost.ts";
import { type DefinedOperation, DocumentCache, type ReadDocument } from "./documents.ts";
import { UNKNOWN_OPERATION, UNNAMED_OPERATION } from "./operation-names.ts";
import { nameRefusal, type Parameters, readJsonText, urlParameters } from "./parameters.ts";
import { PurgeRules } from "./purge-rules.ts";
import { beyondLimit, malformedRequest, type Refusal } from "./refusals.ts";
import type { GraphqlConfig } from "./schema.ts";
import { type TrustedDocumentLists, TrustedDocumentSource } from "./trusted-documents.ts";

/** An operation under the name by which it is counted. */
export interface NamedOperation {
  readonly type: DefinedOperation["type"] | "unknown";
  /** In parentheses if the client has sent no name. */
  readonly name: string;
  /** SHA-256 of the document in hex digits; null: the document was not read. */
  readonly sha256: string | null;
  /** The cost with the request's variables, at least 1. */
  readonly cost: number;
  /** As in `DefinedOperation`. */
  readonly purgeTypes: string;
}

export interface ReadGraphqlRequest {
  readonly operations: readonly NamedOperation[];
  /** The first reason to refuse the request; null: it is forwarded. */
  readonly refusal: Refusal | null;
  /** Set if a document is not trusted, and such documents are only logged. */
  readonly isUntrusted?: boolean;
  /** The trusted document that the request names, and that is to be sent instead of its id. */
  readonly document?: string;
}

const unknown: NamedOperation = { type: "unknown", name: UNKNOWN_OPERATION, sha256: null, cost: 1, purgeTypes: "" };

/** Larger batches are counted as one unknown operation. */
const MAX_BATCH = 100;
const NAME = /^[_a-z]\w{0,127}$/i;
const SHA256 = /^[\da-f]{64}$/i;
const DOCUMENT_ID = /^[\w.:+/=-]{1,128}$/;
/** Digits of a hash that are shown instead of a name. */
const SHOWN_DIGITS = 12;
const UTF8_ONLY = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;

// A byte order mark is kept, and is therefore no valid JSON: parsers differ in whether they skip it.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const unreadable = (refusal: Refusal): ReadGraphqlRequest => ({ operations: [unknown], refusal });

/** A request that is refused although it is not one of GraphQL over HTTP: it counts as no operation. */
const notGraphql = (refusal: Refusal): ReadGraphqlRequest => ({ operations: [], refusal });

const mediaTypeRefusal = (message: string): ReadGraphqlRequest =>
  unreadable({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE", message });

const onlyPost = (message: string): Refusal => ({ status: 405, code: "METHOD_NOT_ALLOWED", message });

/** Refuses mutations: other methods are safe, so web pages may send them with the cookies of their visitors. */
const withoutMutations = (read: ReadGraphqlRequest): ReadGraphqlRequest =>
  read.refusal !== null || !read.operations.some(({ type }) => type === "mutation")
    ? read
    : { ...read, refusal: onlyPost("A mutation must be sent by POST") };

interface ReadOperation {
  readonly operation: NamedOperation;
  readonly refusal: Refusal | null;
  readonly isUntrusted?: boolean;
  readonly document?: string;
}

/** The part of a request that decides which operation of a document is executed, and with which variables. */
interface Choice {
  readonly name: string | undefined;
  readonly variables: OperationVariables;
}

export const untrustedDocument: Refusal = {
  status: 403,
  code: "DOCUMENT_NOT_TRUSTED",
  message: "Only documents on the list of trusted documents are executed here",
};

/** A reader, or a clause about the part of the configuration that is missing. */
export type ChosenReader = { readonly reader: OperationReader } | { readonly missing: string };

interface KnownReader {
  readonly documents: DocumentCache;
  readonly trusted: TrustedDocumentLists | null;
  readonly reader: OperationReader;
}

/** Chooses the reader for an exchange: it follows the schema of the service, and the entities that the config names. */
export class OperationReaders {
  readonly #config: GraphqlConfig;
  readonly #source: TrustedDocumentSource | null;
  readonly #purge: PurgeRules | null;
  /** The documents with the costs by one schema. */
  #documents: { readonly schema: ServiceSchema; readonly cache: DocumentCache } | null = null;
  #last: KnownReader | null = null;

  constructor(config: GraphqlConfig) {
    this.#config = config;
    const { trusted_documents: trusted, purge } = config;
    this.#purge = purge === null ? null : new PurgeRules(purge);
    this.#source = trusted === null ? null : new TrustedDocumentSource(trusted);
  }

  /** @param schema The schema of the service, which is the same object until it changes */
  for(exchange: Pick<Exchange, "graphqlDocuments">, schema: ServiceSchema): ChosenReader {
    const { trusted = null, missing = [] } = this.#source?.in(exchange) ?? {};
    const isRequired = this.#config.enforce && this.#config.trusted_documents?.mode === "require";
    if (missing.length > 0 && isRequired)
      return { missing: `there are no GraphQL documents with the name or id ${missing.join(" or ")}` };
    const documents = this.#documentsBy(schema);
    if (this.#last?.documents === documents && this.#last.trusted === trusted) return this.#last;
    this.#last = { documents, trusted, reader: new OperationReader(this.#config, documents, trusted) };
    return this.#last;
  }

  #documentsBy(schema: ServiceSchema): DocumentCache {
    if (this.#documents?.schema === schema) return this.#documents.cache;
    const { list_size: listSize, slicing_arguments: slicingArguments } = this.#config;
    const cache = new DocumentCache(this.#config, { schema, listSize, slicingArguments, purge: this.#purge });
    this.#documents = { schema, cache };
    return cache;
  }
}

export class OperationReader {
  readonly #documents: DocumentCache;
  readonly #trusted: TrustedDocumentLists | null;
  readonly #config: GraphqlConfig;

  /** @param trusted Null: all documents are trusted */
  constructor(config: GraphqlConfig, documents: DocumentCache, trusted: TrustedDocumentLists | null) {
    this.#config = config;
    this.#documents = documents;
    this.#trusted = trusted;
  }

  /** Null: the request is not for GraphQL, but for example for a page, or it is a preflight. */
  read(request: ExchangeRequest): ReadGraphqlRequest | null | Promise<ReadGraphqlRequest | null> {
    const { method } = request;
    if (method === "POST" || method === "QUERY") return this.#inBody(request);
    if (method !== "GET" && method !== "HEAD" && method !== "OPTIONS")
      return notGraphql(onlyPost(`The method ${method} is not one of GraphQL over HTTP: use POST`));
    if (request.header("upgrade") !== undefined) return this.#upgrade();
    // Some services read the body of any method, and prefer it to the URL.
    const withBody = () => notGraphql(malformedRequest(`A ${method} request must not have a body`));
    const withoutBody = () => (method === "OPTIONS" ? null : this.#inUrl(request.query));
    const hasBody = hasRequestBody(request);
    if (hasBody instanceof Promise) return hasBody.then((has) => (has ? withBody() : withoutBody()));
    return hasBody ? withBody() : withoutBody();
  }

  #upgrade(): ReadGraphqlRequest | null {
    if (this.#config.websocket === "forward") return null;
    const message = "WebSocket connections are not allowed here: send operations by POST";
    return notGraphql({ status: 403, code: "WEBSOCKET_NOT_ALLOWED", message });
  }

  #inUrl(query: string): ReadGraphqlRequest | null {
    const { values, refusal } = urlParameters(query);
    if (refusal !== null) return unreadable(refusal);
    if (!values.has("query") && !values.has("documentId") && !values.has("extensions")) return null;
    const parameters: Record<string, unknown> = Object.fromEntries(values);
    for (const name of ["variables", "extensions"]) {
      const text = values.get(name);
      if (text === undefined) continue;
      const read = readJsonText(text, `The parameter ${name}`);
      if ("refusal" in read) return unreadable(read.refusal);
      parameters[name] = read.value;
    }
    return withoutMutations(this.#single(parameters));
  }

  #inBody(request: ExchangeRequest): ReadGraphqlRequest | Promise<ReadGraphqlRequest> {
    const [given = "", ...others] = request.headerValues("content-type");
    const [type = "", ...parameters] = given.split(";");
    const mediaType = type.trim().toLowerCase();
    const isDocument = mediaType === "application/graphql";
    // Web pages can send forms and text without a preflight, with the cookies of their visitors.
    if (others.length > 0 || (!isDocument && mediaType !== "application/json"))
      return mediaTypeRefusal("The Content-Type must be application/json");
    if (parameters.some((each) => each.trim() !== "" && /charset/i.test(each) && !UTF8_ONLY.test(each)))
      return mediaTypeRefusal("The charset must be utf-8");
    if (request.header("content-encoding") !== undefined)
      return mediaTypeRefusal("The body must not have a Content-Encoding");
    return request.body(this.#config.max_body_size).then((bytes) => {
      if (bytes === null) {
        const message = `The body has more than ${this.#config.max_body_size} bytes`;
        return unreadable({ status: 413, code: "BAD_REQUEST", message });
      }
      const found = this.#inText(bytes, isDocument);
      const read = request.method === "POST" ? found : withoutMutations(found);
      const { values, refusal } = urlParameters(request.query);
      if (read.refusal !== null || (refusal === null && values.size === 0)) return read;
      return { ...read, refusal: malformedRequest("A POST request must not have parameters of GraphQL in its URL") };
    });
  }

  #inText(bytes: Buffer, isDocument: boolean): ReadGraphqlRequest {
    let text: string;
    try {
      text = utf8.decode(bytes);
    } catch {
      return unreadable(malformedRequest("The body is not UTF-8"));
    }
    if (isDocument) return this.#single({ query: text });
    const read = readJsonText(text, "The body");
    if ("refusal" in read) return unreadable(read.refusal);
    return Array.isArray(read.value) ? this.#batch(read.value) : this.#single(read.value);
  }

  #single(value: unknown): ReadGraphqlRequest {
    const { operation, ...others } = this.#operation(value);
    return { operations: [operation], ...others };
  }

  #batch(values: readonly unknown[]): ReadGraphqlRequest {
    const { max_batch_size: limit } = this.#config;
    if (values.length === 0) return unreadable(malformedRequest("The batch is empty"));
    const tooLarge = () => beyondLimit("batch", limit, "The batch has too many operations");
    if (values.length > MAX_BATCH) return unreadable(tooLarge());
    const read = values.map((value) => this.#operation(value));
    const refusal =
      read.find((each) => each.refusal !== null)?.refusal ??
      (read.some(({ document }) => document !== undefined)
        ? malformedRequest("A batch cannot name trusted documents by their ids: send the operations one by one")
        : null);
    return {
      operations: read.map(({ operation }) => operation),
      refusal: values.length > limit ? tooLarge() : refusal,
      isUntrusted: read.some(({ isUntrusted }) => isUntrusted),
    };
  }

  #operation(value: unknown): ReadOperation {
    const refused = (message: string) => ({ operation: unknown, refusal: malformedRequest(message) });
    if (!isRecord(value)) return refused("A GraphQL request must be a JSON object");
    const ambiguous = nameRefusal(value);
    if (ambiguous !== null) return { operation: unknown, refusal: ambiguous };
    const { query, operationName, variables, extensions }: Parameters = value;
    const name = operationName === null || operationName === "" ? undefined : operationName;
    if (name !== undefined && (typeof name !== "string" || !NAME.test(name)))
      return refused("operationName must be a GraphQL name of at most 128 characters");
    for (const [member, given] of Object.entries({ variables, extensions })) {
      if (given !== undefined && given !== null && !isRecord(given)) return refused(`${member} must be an object`);
    }
    const id = idOf(value);
    if (id.refusal !== null) return { operation: unknown, refusal: id.refusal };
    const chosen: Choice = { name, variables: isRecord(variables) ? variables : {} };
    if (query === undefined || query === null || query === "")
      return id.sha256 === null && id.id === null
        ? refused("The request has no query")
        : this.#unsent(id.sha256, id.id ?? "", chosen);
    if (typeof query !== "string") return refused("query must be a string");
    if (id.id !== null) return refused("The request has both a document and the id of one");
    const document = this.#documents.of(query);
    const found = this.#trustedOnly(this.#chosen(document, chosen), document.sha256);
    if (found.refusal !== null || id.sha256 === null || id.sha256 === document.sha256) return found;
    return {
      ...found,
      refusal: malformedRequest("The SHA-256 of the document is not that of extensions.persistedQuery"),
    };
  }

  /** The operation of a document that the request only names. */
  #unsent(sha256: string | null, id: string, choice: Choice): ReadOperation {
    const text = this.#trusted?.textOf(id, sha256);
    if (text !== undefined) {
      const found = this.#chosen(this.#documents.of(text), choice);
      return this.#config.trusted_documents?.forward === "id" ? found : { ...found, document: text };
    }
    const known = sha256 === null ? undefined : this.#documents.withHash(sha256);
    if (known !== undefined) return this.#trustedOnly(this.#chosen(known, choice), known.sha256);
    const shown = sha256 === null ? id : sha256.slice(0, SHOWN_DIGITS);
    const operation: NamedOperation = { ...unknown, name: choice.name ?? `(${shown})`, sha256 };
    if (this.#trusted !== null && this.#config.trusted_documents?.mode === "require")
      return { operation, refusal: untrustedDocument };
    if (this.#config.unknown_documents === "forward")
      return { operation, refusal: null, isUntrusted: this.#trusted !== null };
    const refusal: Refusal =
      id === ""
        ? { status: 200, code: "PERSISTED_QUERY_NOT_FOUND", message: "PersistedQueryNotFound" }
        : malformedRequest("The gateway does not know the document with this id: send the document itself");
    return { operation, refusal };
  }

  /** Refuses or marks an operation of a document that is not trusted, if the config has trusted documents. */
  #trustedOnly(read: ReadOperation, sha256: string): ReadOperation {
    if (this.#trusted === null || this.#trusted.hasHash(sha256)) return read;
    if (this.#config.trusted_documents?.mode === "log") return { ...read, isUntrusted: true };
    return { ...read, refusal: read.refusal ?? untrustedDocument };
  }

  /** The operation that a service executes; services refuse other combinations of document and name. */
  #chosen({ sha256, operations, refusal }: ReadDocument, { name, variables }: Choice): ReadOperation {
    const [found, ...others] = operations.filter((one) => name === undefined || one.name === name);
    if (found !== undefined && others.length === 0) {
      const cost = evaluateCost(found.cost, variables);
      const { max_cost: limit } = this.#config;
      const { type, purgeTypes } = found;
      const operation: NamedOperation = { type, name: found.name ?? UNNAMED_OPERATION, sha256, cost, purgeTypes };
      if (refusal !== null || limit === null || cost <= limit) return { operation, refusal };
      return { operation, refusal: beyondLimit("cost", limit, `The operation has a cost of ${cost}`) };
    }
    const message =
      found !== undefined
        ? "The document has several operations: operationName must name one of them"
        : `The document has no operation${name === undefined ? "" : " with the name in operationName"}`;
    // The name that a client gives to a document which cannot be read.
    const shown = operations.length === 0 && refusal?.code === "LIMIT_EXCEEDED" ? name : undefined;
    return {
      operation: { ...unknown, name: shown ?? UNKNOWN_OPERATION },
      refusal: refusal ?? { status: 400, code: "OPERATION_RESOLUTION_FAILURE", message },
    };
  }
}

interface DocumentId {
  /** The id as sent in `documentId` or `id`; null: none was sent. */
  readonly id: string | null;
  /** The hash in lower case, from the id or `extensions.persistedQuery`; null: the request has none. */
  readonly sha256: string | null;
  readonly refusal: Refusal | null;
}

function idOf({ documentId, id: shortId, extensions }: Parameters): DocumentId {
  const { persistedQuery } = Object(extensions);
  const sent = [documentId, shortId, Object(persistedQuery).sha256Hash].filter(
    (one) => one !== undefined && one !== null,
  );
  const [first] = sent;
  if (first === undefined) return { id: null, sha256: null, refusal: null };
  const refused = (message: string) => ({ id: null, sha256: null, refusal: malformedRequest(message) });
  if (sent.length > 1) return refused("The request names a document in several ways");
  if (typeof first !== "string" || !DOCUMENT_ID.test(first))
    return refused("The id of a document must have at most 128 letters, digits or characters of . _ : + / = -");
  const digits = first.replace(/^sha256:/, "").toLowerCase();
  const sha256 = SHA256.test(digits) ? digits : null;
  const isHash = documentId === undefined && shortId === undefined;
  if (isHash && sha256 === null) return refused("extensions.persistedQuery.sha256Hash must have 64 hex digits");
  return { id: isHash ? null : first, sha256, refusal: null };
}
