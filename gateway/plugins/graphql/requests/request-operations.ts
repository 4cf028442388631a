/**
 * Finds the operations of a request: GraphQL over HTTP, with persisted documents, Apollo's persisted queries and
 * batches. A refusal is the reason why the request is not within the limits, or cannot be read; such a request still has
 * operations, under which it is counted.
 */
import { type ExchangeRequest, hasRequestBody, isRecord, StringCache } from "@sluice/plugin-sdk";
import { evaluateCost, type OperationVariables } from "../cost/static-cost.ts";
import type { DocumentCache, ReadDocument } from "../documents.ts";
import { UNKNOWN_OPERATION, UNNAMED_OPERATION } from "../operation-labels.ts";
import { evaluatePurges } from "../purge/purge-rules.ts";
import { beyondLimit, malformedRequest, type Refusal } from "../refusals.ts";
import type { GraphqlConfig } from "../schema.ts";
import type { TrustedDocumentLists } from "../trusted-documents.ts";
import { documentIdOf } from "./document-id.ts";
import { urlWithDocument, withDocument } from "./document-requests.ts";
import { KnownRequests } from "./known-requests.ts";
import { nameRefusal, type Parameters, readJsonText, urlParameters } from "./parameters.ts";
import { type NamedOperation, type ReadGraphqlRequest, unknownOperation } from "./read-request.ts";

/** Without `enforce`, larger batches are counted as one unknown operation. */
const MAX_BATCH = 100;
const NAME = /^[_a-z]\w{0,127}$/i;
/** Digits of a hash that are shown instead of a name. */
const SHOWN_DIGITS = 12;
/** Parameters of a URL that send or name a document. */
const documentParameters = ["query", "documentId", "extensions", "id", "doc_id"];
const UTF8_ONLY = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;

/** What the Content-Type of a request means: a message if it is refused. */
interface BodyType {
  /** Whether the body is the document itself, without variables. */
  readonly isDocument: boolean;
  readonly refusal: string | null;
}

const bodyTypes = new StringCache<BodyType>((given) => {
  const [type = "", ...parameters] = given.split(";");
  const mediaType = type.trim().toLowerCase();
  const isDocument = mediaType === "application/graphql";
  // Web pages can send forms and text without a preflight, with the cookies of their visitors.
  if (!isDocument && mediaType !== "application/json")
    return { isDocument, refusal: "The Content-Type must be application/json" };
  const isOther = parameters.some((each) => each.trim() !== "" && /charset/i.test(each) && !UTF8_ONLY.test(each));
  return { isDocument, refusal: isOther ? "The charset must be utf-8" : null };
}, 64);

// A byte order mark is kept, and is therefore no valid JSON: parsers differ in whether they skip it.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const unreadable = (refusal: Refusal): ReadGraphqlRequest => ({ operations: [unknownOperation], refusal });

/** A request that is refused although it is not one of GraphQL over HTTP: it counts as no operation. */
const notGraphql = (refusal: Refusal): ReadGraphqlRequest => ({ operations: [], refusal });

const mediaTypeRefusal = (message: string): ReadGraphqlRequest =>
  unreadable({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE", message });

const onlyPost = (message: string): Refusal => ({ status: 405, code: "METHOD_NOT_ALLOWED", message });

const noWebSocket = notGraphql({
  status: 403,
  code: "WEBSOCKET_NOT_ALLOWED",
  message: "WebSocket connections are not allowed here: send operations by POST",
});

/** Refuses mutations: other methods are safe, so web pages may send them with the cookies of their visitors. */
const withoutMutations = (read: ReadGraphqlRequest): ReadGraphqlRequest =>
  read.refusal !== null || !read.operations.some(({ type }) => type === "mutation")
    ? read
    : { ...read, refusal: onlyPost("A mutation must be sent by POST") };

interface ReadOperation {
  readonly operation: NamedOperation;
  readonly refusal: Refusal | null;
  readonly isUntrusted?: boolean;
  /** The trusted document that the request names, and that is to be sent instead of its id. */
  readonly document?: string;
}

/** A request of one operation, and the trusted document that it names, if that is to be sent. */
export type SingleOperation = ReadGraphqlRequest & Pick<ReadOperation, "document">;

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

export class OperationReader {
  readonly #documents: DocumentCache;
  readonly #trusted: TrustedDocumentLists | null;
  readonly #config: GraphqlConfig;
  readonly #bodies = new KnownRequests();
  readonly #urls = new KnownRequests();

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
    // Some services read the body of any method, and prefer it to the URL.
    const withBody = () => notGraphql(malformedRequest(`A ${method} request must not have a body`));
    const withoutBody = () => {
      if (method === "OPTIONS") return null;
      if (this.#config.websocket === "refuse" && request.header("upgrade") !== undefined) return noWebSocket;
      // A service without WebSockets executes the query in the URL of a request for one.
      return this.#inUrl(request.query);
    };
    const hasBody = hasRequestBody(request);
    if (hasBody instanceof Promise) return hasBody.then((has) => (has ? withBody() : withoutBody()));
    return hasBody ? withBody() : withoutBody();
  }

  /**
   * Reads the operation in a message of a WebSocket.
   *
   * @param payload A parsed JSON value
   */
  readPayload(payload: unknown): SingleOperation {
    return this.#single(payload);
  }

  #inUrl(query: string): ReadGraphqlRequest | null {
    const known = this.#urls.get(query);
    if (known !== undefined) return known;
    const { values, refusal } = urlParameters(query, this.#trusted !== null);
    if (refusal !== null) return unreadable(refusal);
    if (documentParameters.every((name) => !values.has(name))) return null;
    const parameters: Record<string, unknown> = Object.fromEntries(values);
    for (const name of ["variables", "extensions"]) {
      const text = values.get(name);
      if (text === undefined) continue;
      const read = readJsonText(text, `The parameter ${name}`);
      if ("refusal" in read) return unreadable(read.refusal);
      parameters[name] = read.value;
    }
    const { document, ...read } = this.#single(parameters);
    const found = withoutMutations(
      document === undefined ? read : { ...read, query: urlWithDocument(query, document) },
    );
    this.#urls.add(query, found);
    return found;
  }

  #inBody(request: ExchangeRequest): ReadGraphqlRequest | Promise<ReadGraphqlRequest> {
    const [given = "", ...others] = request.headerValues("content-type");
    const { isDocument, refusal } = bodyTypes.of(others.length > 0 ? "" : given);
    if (refusal !== null) return mediaTypeRefusal(refusal);
    if (request.header("content-encoding") !== undefined)
      return mediaTypeRefusal("The body must not have a Content-Encoding");
    const { max_body_size: limit } = this.#config;
    const arrived = request.arrivedBody(limit);
    if (arrived !== undefined) return this.#inBytes(arrived, isDocument, request);
    return request.body(limit).then((bytes) => this.#inBytes(bytes, isDocument, request));
  }

  /** @param bytes Null: the body is too long */
  #inBytes(bytes: Buffer | null, isDocument: boolean, { method, query }: ExchangeRequest): ReadGraphqlRequest {
    if (bytes === null) {
      const message = `The body has more than ${this.#config.max_body_size} bytes`;
      return unreadable({ status: 413, code: "BAD_REQUEST", message });
    }
    const found = isDocument ? this.#inText(bytes, true) : this.#inJson(bytes);
    const read = method === "POST" ? found : withoutMutations(found);
    if (query === "" || read.refusal !== null) return read;
    const { values, refusal } = urlParameters(query, this.#trusted !== null);
    if (refusal === null && values.size === 0) return read;
    return { ...read, refusal: malformedRequest("A POST request must not have parameters of GraphQL in its URL") };
  }

  #inJson(bytes: Buffer): ReadGraphqlRequest {
    const key = bytes.toString("latin1");
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const read = this.#inText(bytes, false);
    this.#bodies.add(key, read);
    return read;
  }

  #inText(bytes: Buffer, isDocument: boolean): ReadGraphqlRequest {
    let text: string;
    try {
      text = utf8.decode(bytes);
    } catch {
      return unreadable(malformedRequest("The body is not UTF-8"));
    }
    if (isDocument) return this.#single({ query: text });
    const json = readJsonText(text, "The body");
    if ("refusal" in json) return unreadable(json.refusal);
    if (Array.isArray(json.value)) return this.#batch(json.value);
    const { document, ...read } = this.#single(json.value);
    return document === undefined ? read : { ...read, body: withDocument(bytes, document) };
  }

  #single(value: unknown): SingleOperation {
    const { operation, ...others } = this.#operation(value);
    return { operations: [operation], ...others };
  }

  #batch(values: readonly unknown[]): ReadGraphqlRequest {
    const { enforce, max_batch_size: limit } = this.#config;
    if (values.length === 0) return unreadable(malformedRequest("The batch is empty"));
    const tooLarge = () => beyondLimit("batch", limit, "The batch has too many operations");
    if (values.length > (enforce ? limit : MAX_BATCH)) return unreadable(tooLarge());
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
    const refused = (message: string) => ({ operation: unknownOperation, refusal: malformedRequest(message) });
    if (!isRecord(value)) return refused("A GraphQL request must be a JSON object");
    const ambiguous = nameRefusal(value);
    if (ambiguous !== null) return { operation: unknownOperation, refusal: ambiguous };
    const { query, operationName, variables, extensions }: Parameters = value;
    const name = operationName === null || operationName === "" ? undefined : operationName;
    if (name !== undefined && (typeof name !== "string" || !NAME.test(name)))
      return refused("operationName must be a GraphQL name of at most 128 characters");
    for (const [member, given] of Object.entries({ variables, extensions })) {
      if (given !== undefined && given !== null && !isRecord(given)) return refused(`${member} must be an object`);
    }
    const id = documentIdOf(value);
    if (id.refusal !== null) return { operation: unknownOperation, refusal: id.refusal };
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
    const operation: NamedOperation = { ...unknownOperation, name: choice.name ?? `(${shown})`, sha256 };
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
      const { type, purges } = found;
      const purgeNames = evaluatePurges(purges, variables);
      const { objects } = purges;
      const operation: NamedOperation = {
        ...{ type, name: found.name ?? UNNAMED_OPERATION, sha256, cost },
        ...{ purgeNames, objects },
      };
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
      operation: { ...unknownOperation, name: shown ?? UNKNOWN_OPERATION },
      refusal: refusal ?? { status: 400, code: "OPERATION_RESOLUTION_FAILURE", message },
    };
  }
}
