/** Generates the reference page of conformance from the kept results of `npm run test:public` and `npm run fuzz`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { keptLongRuns } from "../../stages/long-runs.ts";
import type { KeptResult } from "../../stages/public-results.ts";

const results = join(import.meta.dirname, "../../../test/public/results.json");

/** Suites, clients and servers of other projects that run with every change; a failure fails the stage. */
const withEveryChange: readonly (readonly [what: string, stage: string, test: string])[] = [
  [
    "every check of [graphql-http](https://www.npmjs.com/package/graphql-http), the audit of GraphQL over HTTP, on the user API",
    "`npm test`",
    "user-api/src/http/audit.test.ts",
  ],
  [
    "the HTTP/1.1 parser against Node's parser, on generated and mutated connections",
    "`npm test`, `npm run fuzz`",
    "test/conformance/http1/differential.test.ts",
  ],
  [
    "h2spec, the suite for HTTP/2 (RFC 9113 and HPACK): all cases with TLS, and without TLS all but 3.5/2, an invalid " +
      "preface. Because the port also accepts HTTP/1.1, it answers this preface with 400, as those of Envoy and HAProxy do",
    "`npm run test:e2e`",
    "test/e2e/http2/h2spec.test.ts",
  ],
  [
    "Node's HTTP/2 client, with random requests and responses",
    "`npm test`, `npm run fuzz`",
    "gateway/src/proxy/http2/http2.property.test.ts",
  ],
  [
    "Node's HTTP/2 server as the upstream, with random requests and responses",
    "`npm test`, `npm run fuzz`",
    "gateway/src/proxy/http2/upstream/upstream.property.test.ts",
  ],
  [
    "gRPC's interoperability cases, with the client and the server of @grpc/grpc-js",
    "`npm test`",
    "test/conformance/engine/grpc-interop.ts",
  ],
  [
    "decK, Kong's command line client: sync, diff and dump, over every store",
    "`npm run test:e2e`",
    "test/e2e/admin/deck.test.ts",
  ],
  ["go-kong, Kong's client library in Go", "`npm run test:e2e`", "test/e2e/admin/go-kong.test.ts"],
  [
    "Helm and kubeconform: the objects of the charts against the API server's own schemas",
    "`npm run test:e2e`",
    "test/e2e/deploy/chart-api.test.ts",
  ],
  [
    "the plugin openid-connect with a provider written in Go with the library zitadel/oidc",
    "`npm run test:e2e`",
    "test/e2e/plugins/openid-server.test.ts",
  ],
];

const intro = `# Conformance

This page lists the suites, clients and servers of other projects with which Sluice is tested, and the last results. [Kong compatibility](kong-compatibility.md) compares Sluice with Kong feature by feature, and names the tests.

## Suites with recorded results

These suites are too large to run with every change. \`npm run test:public\` runs them and keeps the results in [test/public](../../test/public/results.md); \`npm run generate\` writes them to this page. A skipped test counts as failed.`;

const longRuns = `## Long runs of random tests

The random tests of \`npm test\` have few cases, which differ between runs. \`npm run fuzz\` runs many, and \`npm run fuzz -- --record\` keeps the runs that pass. \`--only\`, \`--cases\` and \`--seed\` repeat one of them ([fuzz.ts](../../test/conformance/fuzz.ts)).`;

const gatewayApi = `## Gateway API

\`npm run test:conformance\` runs the conformance suite of the Gateway API and keeps its [report](conformance/gateway-api.md). Tests of its core features run in \`npm run test:e2e -- gateway-api\` ([core.test.ts](../../test/e2e/gateway-api/core.test.ts)).`;

const table = (head: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

export function conformancePage(): GeneratedFile {
  const kept: Readonly<Record<string, KeptResult>> = JSON.parse(readFileSync(results, "utf8"));
  const last = Object.entries(kept).map(([folder, { subject, date, commit, passed, failed, faults }]) => [
    `[${subject}](../../${folder})`,
    ...[date, commit, passed, failed + faults],
  ]);
  const always = withEveryChange.map(([what, stage, test]) => [
    what,
    stage,
    `[${test.split("/").at(-1)}](../../${test})`,
  ]);
  const long = Object.entries(keptLongRuns()).map(([what, { date, commit, cases, seed, seconds }]) => [
    what,
    ...[date, commit, cases, seed, seconds],
  ]);
  const content = [
    intro,
    table(["suite", "date", "commit", "passed", "failed"], last),
    "## With every change",
    table(["suite or client", "runs in", "test"], always),
    longRuns,
    table(["what", "date", "commit", "cases", "seed", "seconds"], long),
    gatewayApi,
  ].join("\n\n");
  return generatedPage(
    "docs/reference/conformance.md",
    content,
    "test/public/results.json and test/conformance/long-runs.json",
  );
}
