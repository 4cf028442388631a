/** Reads GraphQL requests from bodies and URLs: valid UTF-8 only, and members of the right types. */

import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { GraphQLError } from "graphql";
import { createFailure } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { GraphqlRequest } from "../limits/documents.ts";

/** A request error with an HTTP status that is more precise than the status of its error code. */
export class RequestError extends Error {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(statusCode: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

const bad = (message: string): GraphQLError => createFailure("BAD_REQUEST", message);

/** The hash that Apollo's clients send for a trusted document. Undefined: there is none. */
function hashIn(extensions: JsonObject): string | undefined {
  const { persistedQuery } = extensions;
  const hash = isJsonObject(persistedQuery) ? persistedQuery.sha256Hash : undefined;
  return typeof hash === "string" ? hash : undefined;
}

/** Reads a request from a JSON body or a WebSocket message. */
export function readRequest(body: unknown): GraphqlRequest | GraphQLError {
  if (Array.isArray(body)) return bad("Requests are answered one by one: send an object, not a list");
  if (!isJsonObject(body)) return bad("The request must be a JSON object with the member query");
  const { query, operationName, variables, extensions, documentId } = body;
  if (query !== undefined && query !== null && typeof query !== "string") return bad("query must be a string");
  if (documentId !== undefined && documentId !== null && typeof documentId !== "string") {
    return bad("documentId must be a string or null");
  }
  if (operationName !== undefined && operationName !== null && typeof operationName !== "string") {
    return bad("operationName must be a string or null");
  }
  if (variables !== undefined && variables !== null && !isJsonObject(variables)) {
    return bad("variables must be an object or null");
  }
  if (extensions !== undefined && extensions !== null && !isJsonObject(extensions)) {
    return bad("extensions must be an object or null");
  }
  const id = documentId ?? hashIn(extensions ?? {});
  // WebSocket messages require `query`; clients that send an id leave it empty.
  if (typeof query !== "string" || (query === "" && id !== undefined)) {
    return { documentId: id, operationName, variables };
  }
  if (typeof documentId === "string") return bad("A request must have either query or documentId");
  return { query, operationName, variables };
}

/** Reads a request from the query string of a GET, where variables and extensions are JSON texts. */
export function readUrlRequest(query: unknown): GraphqlRequest | GraphQLError {
  if (!isJsonObject(query)) return bad("The URL must have the parameter query");
  const members: Record<string, unknown> = {};
  for (const name of ["query", "documentId", "operationName", "variables", "extensions"]) {
    const text = query[name];
    if (text === undefined || (text === "" && name !== "query")) continue;
    if (typeof text !== "string") return bad(`The URL has the parameter ${name} more than once`);
    if (name !== "variables" && name !== "extensions") members[name] = text;
    else {
      try {
        members[name] = JSON.parse(text);
      } catch {
        return bad(`The parameter ${name} must be JSON`);
      }
    }
  }
  return readRequest(members);
}

/** The types of POST and QUERY bodies. Pages of other sites cannot send these without a preflight request. */
export const CONTENT_TYPES = ["application/json", "application/graphql"] as const;

/**
 * Decodes a body. Invalid UTF-8 is refused: Node would replace it by U+FFFD, which would get into the names of created
 * users. A compressed body is refused too.
 */
function textOf({ headers }: Pick<FastifyRequest, "headers">, body: Buffer): string {
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding !== "identity") {
    // A small compressed body may unpack to a large one, and documents are small without compression.
    throw new RequestError(415, "The body must be sent as it is, without a Content-Encoding", {
      "accept-encoding": "identity",
    });
  }
  if (!isUtf8(body)) throw new RequestError(400, "The body must be UTF-8");
  return body.toString();
}

export function parseBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  // Bodies with a member `__proto__` or with a `constructor` that has a member `prototype` are refused.
  const parse = scope.getDefaultJsonParser("error", "error");
  scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    parse(request, textOf(request, body as Buffer), done);
  });
  scope.addContentTypeParser(
    "application/graphql",
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: unknown) => ({
      query: textOf(request, body as Buffer),
    }),
  );
}
