/**
 * The examples on the pages of the plugins, as written: each has three forms (commands for the admin API, a file for
 * decK, and custom resources), which must give the same entities. Then the example's requests are sent to a gateway.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Resource } from "@sluice/crds";
import { loadText } from "@sluice/model";
import { builtInFacts } from "@sluice/plugins/schemas";
import { parse, parseAllDocuments } from "yaml";
import { fromResources } from "../../../gateway/src/commands/config/from-resources.ts";
import { entitiesOf } from "../../../gateway/src/stores/read-all.ts";
import {
  adminCommands,
  customResources,
  deckFile,
  type ExampleRequest,
  examplesOf,
  type PluginExample,
} from "../../../tools/generate/plugin-examples.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { type LdapServer, startLdapServer } from "../../../tools/programs/servers/ldap.ts";
import { type OpenidProvider, startOpenidProvider } from "../../plugins/openid-provider.ts";
import { createDeck, type Deck } from "./deck.ts";
import { type RunningStore, writableStores } from "./stores.ts";

const folder = temporaryFolder("plugin-pages");
let running: RunningStore;
let deck: Deck;
let upstream: Server;
let provider: Pick<OpenidProvider, "issuer">;
let directory: Pick<LdapServer, "port">;
let example: PluginExample;
/** The headers of the last request that reached the upstream. */
let received: IncomingHttpHeaders = {};
let forwarded: string | undefined;

before(async () => {
  running = await (writableStores.find(({ name }) => name === "file") ?? assert.fail()).start();
  deck = createDeck(running.admin, join(folder.path, "deck"));
  upstream = createServer((request, response) => {
    received = request.headers;
    forwarded = `${request.method} ${request.url}`;
    const { status = 200, headers = {}, body = "" } = example.upstream ?? {};
    request.resume().once("end", () => response.writeHead(status, headers).end(body));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  // With this configuration, curl fails if the admin API answers with an error status.
  writeFileSync(join(folder.path, ".curlrc"), "silent\nfail-with-body\n");
});
after(async () => {
  await running?.stop();
  upstream?.close();
  folder.remove();
});

async function startDirectory(test: TestContext): Promise<LdapServer> {
  const started = await startLdapServer({ alice: "alice-password", bob: "bob-password" });
  test.after(() => started.stop());
  return started;
}

/** The text of a page with the addresses of this test instead of the page's. */
const here = (text: string): string =>
  text
    .replaceAll(/http:\/\/[a-z]+\.example(?!:)/g, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
    .replaceAll("https://identity.example", provider.issuer)
    .replaceAll("ldap.example", "127.0.0.1")
    .replaceAll(/\b(ldap_port\W+)389\b/g, `$1${directory.port}`)
    .replaceAll("http://localhost:8001", running.admin)
    .replaceAll("http://localhost:8000", running.proxy);

async function shell(script: string): Promise<string> {
  const file = join(folder.path, "commands.sh");
  writeFileSync(file, `set -e\n${script}\n`);
  const command = await startProcess("sh", [file], { name: "the commands", env: { CURL_HOME: folder.path } });
  const { code } = await command.ended();
  assert.equal(code, 0, `${script}\n${command.output()}`);
  return command.output();
}

/** Removes all entities from the gateway's file. */
async function removeAll(): Promise<void> {
  const body = new URLSearchParams({ config: deckFile({ ...example, config: {} }) });
  const response = await fetch(`${running.admin}/config`, { method: "POST", body });
  assert.equal(response.status, 201, await response.text());
}

async function configured(): Promise<unknown> {
  const { config } = (await (await fetch(`${running.admin}/config`)).json()) as { readonly config: string };
  return comparable(parse(config));
}

/** The entities with names as references, and without generated members, which differ between the three forms. */
function comparable(lists: unknown): unknown {
  const all = Object.values(Object(lists)).flat().map(Object);
  const names = new Map(all.map(({ id, name, username }) => [id, name ?? username]));
  const generated = ["id", "created_at", "updated_at", "password", "_format_version", "_transform"];
  const simplified = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(simplified).toSorted((one, other) => (text(one) < text(other) ? -1 : 1));
    if (value === null || typeof value !== "object") return names.get(value) ?? value;
    const members = Object.entries(value).filter(([name, member]) => !generated.includes(name) && member !== null);
    return Object.fromEntries(members.toSorted().map(([name, member]) => [name, simplified(member)]));
  };
  return simplified(lists);
}
const text = (value: unknown): string => JSON.stringify(value);

/** The entities of the custom resources, in the namespace default. */
function entitiesOfResources(): unknown {
  const resources = parseAllDocuments(customResources(example)).map((document) => document.toJS() as Resource);
  const placed = resources.map((one) => ({ ...one, metadata: { ...one.metadata, namespace: "default" } }));
  const { lists, faults } = fromResources(placed, { homeNamespace: "default", class: "sluice" });
  assert.equal(faults, undefined);
  return lists;
}

function entitiesOfFile(): unknown {
  const { value } = loadText(deckFile(example), { file: "kong.yaml" });
  return value && entitiesOf(value.document);
}

/** The body with dots instead of request ids, as on the pages. */
const withoutIds = (body: string): string => body.replaceAll(/\b[0-9a-f]{32}\b/g, "...");

async function send({ curl, status, headers = {}, body, ...expected }: ExampleRequest): Promise<void> {
  received = {};
  forwarded = undefined;
  const [head = "", ...rest] = (await shell(`curl -i --no-fail-with-body ${here(curl)}`)).split("\r\n\r\n");
  const [line = "", ...lines] = head.split("\r\n");
  assert.equal(Number(line.split(" ")[1]), status, `${curl}\n${head}`);
  for (const [name, value] of Object.entries(headers)) {
    const own = lines.filter((each) => each.toLowerCase().startsWith(`${name.toLowerCase()}: `));
    const values = own.map((each) => each.slice(name.length + 2));
    const [start = "", end] = here(value ?? "").split("...");
    const isStart = end !== undefined && values.length === 1 && values[0]?.startsWith(start);
    if (!isStart) assert.deepEqual(values, value === null ? [] : [start], `${curl}\n${head}`);
  }
  if (body !== undefined) assert.equal(withoutIds(rest.join("\r\n\r\n")), body, curl);
  for (const [name, value] of Object.entries(expected.received ?? {}))
    assert.equal(received[name.toLowerCase()] ?? null, value, `${name} of ${curl}`);
  if (expected.forwarded !== undefined) assert.equal(forwarded ?? null, expected.forwarded, curl);
}

for (const { name } of builtInFacts) {
  describe(`the page of ${name}`, () => {
    for (const one of examplesOf(name)) {
      test(`its example "${one.title}" is the same in three forms, and its requests have the responses shown`, async (context) => {
        example = one;
        provider = name === "openid-connect" ? await startOpenidProvider(context) : { issuer: "no provider" };
        directory = name === "ldap-auth" ? await startDirectory(context) : { port: 389 };
        await removeAll();
        await shell(adminCommands(one).map(here).join("\n"));
        const byCommands = await configured();
        await removeAll();
        await deck.change("sync", parse(here(deckFile(one))));
        assert.deepEqual(await configured(), byCommands);
        assert.deepEqual(comparable(entitiesOfResources()), comparable(entitiesOfFile()));
        for (const request of one.requests) await send(request);
      });
    }

    test("it has at least two examples", () => {
      assert.ok(examplesOf(name).length >= 2);
    });
  });
}
