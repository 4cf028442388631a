/** Reads request bodies: JSON and GraphQL, in UTF-8 that is none else. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HttpFault } from "./answer.ts";

/** What may be sent by POST and QUERY. No page can send these to another site without asking first. */
export const CONTENT_TYPES = ["application/json", "application/graphql"] as const;

/** Node's own reading of UTF-8 turns broken bytes into U+FFFD, and users would be called so. */
function textOf({ headers }: Pick<FastifyRequest, "headers">, body: Buffer): string {
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding !== "identity") {
    // What is small may become large when it is unpacked, and documents are small as they are.
    throw new HttpFault(415, "The body must be sent as it is, without a Content-Encoding", {
      "accept-encoding": "identity",
    });
  }
  if (!isUtf8(body)) throw new HttpFault(400, "The body must be UTF-8");
  return body.toString();
}

/** Gives the scope these parsers and no other. */
export function parseBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  // Members called __proto__ are refused.
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
