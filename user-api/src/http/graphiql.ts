/**
 * GraphiQL, a page to try the API in a browser. Its assets come from an installed package, so it works offline, and
 * its Content-Security-Policy allows no assets from elsewhere.
 */
import type { FastifyInstance } from "fastify";

/** Nine megabytes of text: loaded with the first request for the page or one of its files. */
const load = () => import("@graphql-yoga/render-graphiql/graphiql");
type Assets = Awaited<ReturnType<typeof load>>;

const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>GraphiQL</title>
    <meta name="robots" content="noindex" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="./graphiql/graphiql.css" />
  </head>
  <body class="no-focus-outline">
    <noscript>GraphiQL needs JavaScript.</noscript>
    <div id="root"></div>
    <script src="./graphiql/graphiql.js"></script>
    <script src="./graphiql/start.js"></script>
  </body>
</html>
`;

const defaultQuery = `# GraphiQL: try a query, a mutation or a subscription. Ctrl-Enter runs it.

{
  users(first: 10) {
    name
    email
    posts {
      title
    }
  }
}
`;

/** URLs are relative to the page, because a gateway may serve it below a path of its own. */
const start = (graphqlPath: string) => `self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => new URL(\`./graphiql/\${label}.worker.js\`, location.href).href,
};
YogaGraphiQL.renderYogaGraphiQL(document.getElementById("root"), {
  title: "GraphiQL",
  endpoint: new URL(${JSON.stringify(`.${graphqlPath}`)}, location.href).href,
  subscriptionsProtocol: "SSE",
  defaultQuery: ${JSON.stringify(defaultQuery)},
});
`;

/** The editor creates style elements at run time, which requires 'unsafe-inline'. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

type File = readonly [type: "html" | "javascript" | "css", text: (assets: Assets) => string];

const filesOf = (graphqlPath: string): Readonly<Record<string, File>> => ({
  "/graphiql": ["html", () => html],
  "/graphiql/start.js": ["javascript", () => start(graphqlPath)],
  "/graphiql/graphiql.js": ["javascript", ({ js }) => js],
  "/graphiql/graphiql.css": ["css", ({ css }) => css],
  // Named by the labels under which the editor requests them.
  "/graphiql/editorWorkerService.worker.js": ["javascript", (assets) => assets.editorWorkerService],
  "/graphiql/json.worker.js": ["javascript", (assets) => assets.jsonWorker],
  "/graphiql/graphql.worker.js": ["javascript", (assets) => assets.graphqlWorker],
});

/** Where the package is not installed, as in images, the page is left out with a warning. */
export function serveGraphiql(scope: FastifyInstance, graphqlPath: string): void {
  try {
    import.meta.resolve("@graphql-yoga/render-graphiql/graphiql");
  } catch {
    scope.log.warn("GraphiQL is not installed (images do not contain it): /graphiql answers 404");
    return;
  }
  for (const [url, [type, text]] of Object.entries(filesOf(graphqlPath))) {
    scope.get(url, async (_request, reply) =>
      reply.headers({ ...headers, "content-type": `text/${type}; charset=utf-8` }).send(text(await load())),
    );
  }
}
