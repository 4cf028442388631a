/** Reads request bodies: JSON and GraphQL, in UTF-8 that is none else. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { HttpFault } from "./answer.ts";

/** What may be sent by POST and QUERY. No page can send these to another site without asking first. */
export const CONTENT_TYPES = ["application/json", "application/graphql"] as const;

/** Node's own reading of UTF-8 turns broken bytes into U+FFFD, and users would be called so. */
function textOf(body: Buffer): string {
  if (!isUtf8(body)) throw new HttpFault(400, "The body must be UTF-8");
  return body.toString();
}

/** Gives the scope these parsers and no other. */
export function parseBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  // Members called __proto__ are refused.
  const parse = scope.getDefaultJsonParser("error", "error");
  scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    parse(request, textOf(body as Buffer), done);
  });
  scope.addContentTypeParser(
    "application/graphql",
    { parseAs: "buffer" },
    async (_request: unknown, body: unknown) => ({
      query: textOf(body as Buffer),
    }),
  );
}
