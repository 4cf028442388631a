/** Parses request bodies: JSON and GraphQL documents, in valid UTF-8 only. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HttpFault } from "./answer.ts";

/** The types of POST and QUERY bodies. Pages of other sites cannot send these without a preflight request. */
export const CONTENT_TYPES = ["application/json", "application/graphql"] as const;

/** Node replaces invalid bytes by U+FFFD when it decodes UTF-8, and users would get such names. */
function textOf({ headers }: Pick<FastifyRequest, "headers">, body: Buffer): string {
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding !== "identity") {
    // A small compressed body may unpack to a large one, and documents are small without compression.
    throw new HttpFault(415, "The body must be sent as it is, without a Content-Encoding", {
      "accept-encoding": "identity",
    });
  }
  if (!isUtf8(body)) throw new HttpFault(400, "The body must be UTF-8");
  return body.toString();
}

/** Replaces the content type parsers of the scope. */
export function parseBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  // Bodies with a member `__proto__` are refused.
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
