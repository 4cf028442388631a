import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDocument, emptySnapshot, type Snapshot } from "@sluice/model";
import { logUnavailable } from "./log-unavailable.ts";

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const plugin = {
  id: id(1),
  name: "graphql",
  config: { trusted_documents: { documents: ["web", id(9)] } },
};
const web = { id: id(8), name: "web", manifest: "{}" };
const mobile = { id: id(9), name: "mobile", manifest: "{}" };

function documentOf(
  plugins: readonly object[],
  graphql_documents: readonly object[],
  routes: readonly object[] = [],
): Snapshot {
  const applied = applyDocument(emptySnapshot, { _format_version: "3.0", plugins, graphql_documents, routes });
  return applied.value ?? assert.fail(JSON.stringify(applied.violations));
}

function logged(before: Snapshot, now: Snapshot): readonly string[] {
  const lines: string[] = [];
  const log = { warn: (details: object, message: string) => void lines.push(`${JSON.stringify(details)} ${message}`) };
  logUnavailable({ log, hasPeers: true }, before, now);
  return lines;
}

const details = `{"plugin":"${id(1)}"}`;
const closed = "requests in the scope of the plugin are answered with 503 until they exist";
const missing = (names: string, effect = closed) =>
  `${details} there are no GraphQL documents with the name or id ${names}: ${effect}`;

test("a plugin whose GraphQL documents do not exist is logged once, and again when other documents are missing", () => {
  const none = documentOf([plugin], []);
  const one = documentOf([plugin], [mobile]);
  const both = documentOf([plugin], [web, mobile]);
  assert.deepEqual(logged(emptySnapshot, none), [missing(`web or ${id(9)}`)]);
  assert.deepEqual(logged(none, documentOf([{ ...plugin, tags: ["t"] }], [])), []);
  assert.deepEqual(logged(none, one), [missing("web")]);
  assert.deepEqual(logged(one, both), []);
  assert.deepEqual(logged(both, one), [missing("web")]);
});

test("the log line of a plugin that forwards other documents does not mention 503", () => {
  const { config, ...rest } = plugin;
  const effect = "the documents count as not trusted until they exist";
  for (const open of [
    { ...config, enforce: false },
    { trusted_documents: { ...config.trusted_documents, mode: "log" } },
  ])
    assert.deepEqual(logged(emptySnapshot, documentOf([{ ...rest, config: open }], [mobile])), [
      missing("web", effect),
    ]);
});

test("plugins that are disabled, or that name no documents, are not logged", () => {
  const others = [
    { ...plugin, enabled: false },
    { id: id(3), name: "graphql", route: null, config: {} },
  ];
  for (const other of others) assert.deepEqual(logged(emptySnapshot, documentOf([other], [])), []);
});

test("of many plugins whose GraphQL documents do not exist, the first twenty are logged, and the number of the others", () => {
  const routes = Array.from({ length: 25 }, (_, at) => ({ id: id(200 + at), name: `r${at}`, paths: [`/${at}`] }));
  const plugins = routes.map((route, at) => ({ ...plugin, id: id(100 + at), route: { id: route.id } }));
  const lines = logged(emptySnapshot, documentOf(plugins, [], routes));
  assert.equal(lines.length, 21);
  assert.equal(lines.at(-1), '{"more":5} more routes, plugins and credentials are unavailable');
});
