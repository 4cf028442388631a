/** mercurius' page to try the API in a browser. Its script fetches GraphiQL and React from a public address. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { FastifyInstance } from "fastify";

const files = {
  "/graphiql": ["graphiql.html", "text/html"],
  "/graphiql/main.js": ["main.js", "text/javascript"],
  "/graphiql/sw.js": ["sw.js", "text/javascript"],
} as const;

/** mercurius serves the page only together with its own endpoint, which is not ours. */
export function serveGraphiql(scope: FastifyInstance, graphqlPath: string): void {
  const folder = join(dirname(createRequire(import.meta.url).resolve("mercurius")), "static");
  for (const [url, [file, type]] of Object.entries(files)) {
    scope.get(url, async (_request, reply) =>
      reply.header("content-type", `${type}; charset=utf-8`).send(await readFile(join(folder, file))),
    );
  }
  const config = `window.GRAPHQL_ENDPOINT = ${JSON.stringify(graphqlPath)};\nwindow.GRAPHIQL_PLUGIN_LIST = [];\n`;
  scope.get("/graphiql/config.js", async (_request, reply) =>
    reply.header("content-type", "text/javascript; charset=utf-8").send(config),
  );
}
