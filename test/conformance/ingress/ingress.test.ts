/**
 * What ingress-nginx documents about Ingresses and annotations, on a real nginx and on Sluice. nginx gets the
 * configuration that ingress-nginx generates; Sluice gets the document that the operator derives from the Ingresses.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { startFileNode } from "../../../gateway/src/testing-file-node.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { sendRequest } from "../engine/client.ts";
import { startNginx } from "./nginx.ts";
import { nginxFiles } from "./objects.ts";
import { documentOfIngresses } from "./resources.ts";
import type { Expected, ExpectedValues, IngressRequest } from "./row.ts";
import { ingressRows as all } from "./rows/index.ts";
import { startIngressServers } from "./servers.ts";

const rows = all.map((row, index) => [`row${index + 1}.example`, row] as const);

const folder = temporaryFolder("ingress");
after(() => folder.remove());
const servers = await startIngressServers();
after(() => servers.close());

const nginx = await startNginx({ rows, servers, folder: join(folder.path, "nginx"), files: nginxFiles });
after(() => nginx.process.stop());

const { document, events } = documentOfIngresses(rows, servers);
const file = join(folder.path, "sluice.json");
writeFileSync(file, JSON.stringify(document));
const gateway = await startFileNode({ file, env: { SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8", SLUICE_WORKERS: "1" } });
after(() => gateway.node.stop());

const pages = ["docs/reference/ingress.md", "docs/how-to/leave-ingress-nginx.md"]
  .map((page) => readFileSync(join(repositoryRoot, page), "utf8"))
  .join("\n");

test("the Ingresses have the Events that their rows expect", () => {
  const expected = new Set(rows.flatMap(([, { events: texts = [] }]) => texts));
  const shown = events.map((message) => [...expected].find((text) => message.includes(text)) ?? message);
  assert.deepEqual(new Set(shown), expected);
});

test("the documentation states every difference between nginx and Sluice", () => {
  const reasons = rows.flatMap(([, { exchanges }]) => exchanges.flatMap(({ sluice }) => sluice?.because ?? []));
  assert.deepEqual(
    [...new Set(reasons)].filter((reason) => !pages.includes(reason)),
    [],
  );
});

const proxies = [
  { name: "nginx", port: nginx.port, expectedOf: (exchange: IngressRequest): Expected => exchange },
  {
    name: "Sluice",
    port: gateway.proxy,
    expectedOf: (exchange: IngressRequest): Expected => ({ ...exchange, ...exchange.sluice }),
  },
];

for (const { name, port, expectedOf } of proxies) {
  describe(name, () => {
    for (const [host, { title, exchanges }] of rows) {
      test(title, async () => {
        const differences: string[] = [];
        for (const exchange of exchanges)
          for (let count = 0; count < (exchange.times ?? 1); count++)
            differences.push(...(await differencesOf(port, exchange, { host, expected: expectedOf(exchange) })));
        assert.deepEqual(differences, []);
      });
    }
  });
}

interface ComparedWith {
  readonly host: string;
  readonly expected: Expected;
}

/** Sends the request. Resolves to the differences between the expected and the observed, as sentences. */
async function differencesOf(
  port: number,
  exchange: IngressRequest,
  { host, expected }: ComparedWith,
): Promise<string[]> {
  const { send: line, host: asked = "HOST", with: headers = {}, body, chunked = false } = exchange;
  const [method = "", path = ""] = line.split(" ");
  const length = chunked ? ["Transfer-Encoding", "chunked"] : ["Content-Length", `${body}`];
  const list = [
    ...(asked === null ? [] : ["Host", asked.replaceAll("HOST", host)]),
    ...Object.entries(headers).flat(),
    ...(body === undefined ? [] : length),
  ];
  servers.take();
  const end = exchange.during === undefined ? undefined : await begin(port, exchange.during, host);
  const content = body === undefined ? {} : { body: Buffer.alloc(body, "x") };
  const response = await sendRequest(port, { method, path, headers: list, ...content });
  end?.();
  const requests = servers.take();
  const received = requests.flatMap(({ server, target }) => [server, target]);
  const found = expected.is.endsWith(" *") ? `${response.status} *` : [response.status, ...received].join(" ");
  const what = `${line} ${JSON.stringify({ ...(asked !== "HOST" && { Host: asked }), ...headers })}`;
  const servedBy = (server: string): IncomingHttpHeaders =>
    requests.findLast((request) => request.server === server)?.headers ?? {};
  const wanted = expected.is.replaceAll("HOST", host);
  return [
    ...(found === wanted ? [] : [`${what}: ${found} instead of ${wanted}`]),
    ...differingHeaders(response.headers, expected.headers ?? {}, host).map((text) => `${what}: ${text}`),
    ...Object.entries(expected.received ?? {}).flatMap(([server, values]) =>
      differingHeaders(servedBy(server), values, host).map((text) => `${what}: ${server} received ${text}`),
    ),
  ];
}

/** Sends a request, and waits until its server has received it. Resolves to a function that ends the request. */
async function begin(port: number, line: string, host: string): Promise<() => void> {
  const [method, path] = line.split(" ");
  const open = request({ host: "127.0.0.1", port, method, path, headers: { host } });
  open.on("error", () => {}).end();
  await waitFor(() => servers.take().length > 0, { what: `${line} to reach its server` });
  return () => open.destroy();
}

function differingHeaders(found: IncomingHttpHeaders, wanted: ExpectedValues, host: string): string[] {
  return Object.entries(wanted).flatMap(([name, value]) => {
    const given = found[name];
    const text = given === undefined ? null : [given].flat().join("; ");
    const isEqual =
      value instanceof RegExp ? value.test(text ?? "") : text === (value?.replaceAll("HOST", host) ?? null);
    return isEqual ? [] : [`${name}: ${text} instead of ${value}`];
  });
}
