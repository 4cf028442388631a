/** Checks that the README's list of missing Kong 3.9 features is complete and contains no feature that exists. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkEntity, collections, kongPlugins, pluginNames } from "@sluice/model";
import { unsupportedCollections } from "../../crds/model/src/document/flatten/top-level.ts";
import { repositoryRoot } from "../check/source-files.ts";

/** Entities that Kong uses internally, and entities that a row of the list has under another name. */
const notListed = new Set([
  ...["acme_storage", "clustering_data_planes", "oauth2_authorization_codes", "oauth2_tokens", "sessions"],
  ...["ratelimiting_metrics", "tags", "groups", "licenses", "workspaces", "rbac_roles", "rbac_endpoint_permissions"],
]);

const [, section = ""] = readFileSync(join(repositoryRoot, "README.md"), "utf8").split("\n## Not there yet\n");
const rows = new Map(
  [...section.matchAll(/^\| ([^|]+) \| (.*) \|$/gm)].map(([, subject = "", text = ""]) => [subject, text]),
);

/** The names in backticks in the row with this subject, sorted. */
const namesIn = (subject: string): readonly string[] => {
  const text = rows.get(subject);
  assert.ok(text !== undefined, `there is no row '${subject}'`);
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name).toSorted();
};

test("the plugins in the list are those of Kong's free edition that Sluice does not have", () => {
  const ofFreeEdition = [...kongPlugins].flatMap(([name, { paid }]) => (paid ? [] : [name]));
  const missing = ofFreeEdition.filter((name) => !pluginNames().includes(name));
  assert.deepEqual(namesIn("plugins of Kong"), missing.toSorted());
});

test("the entities in the list are those of Kong's files that Sluice does not have, except those in `notListed`", () => {
  assert.deepEqual(
    collections.filter((collection) => unsupportedCollections.has(collection)),
    [],
  );
  const missing = [...unsupportedCollections].filter((name) => !notListed.has(name));
  assert.deepEqual(namesIn("entities"), missing.toSorted());
});

type Entity = readonly [collection: "routes" | "services" | "upstreams", members: object];

const routeOf = (...protocols: readonly string[]) => ["routes", { protocols, paths: ["/"] }] as const;
const serviceOf = (more: object) => ["services", { host: "a", protocol: "https", ...more }] as const;

/** A name in the list, and an entity that must be rejected as long as the name is in the list. */
const refused: readonly (readonly [subject: string, name: string, entity: Entity])[] = [
  ["stream routes", "udp", ["routes", { protocols: ["udp"], destinations: [{ port: 1 }] }]],
  ["stream routes", "udp", serviceOf({ protocol: "udp" })],
  ["WebSocket routes of the paid editions", "ws", routeOf("ws")],
  ["WebSocket routes of the paid editions", "wss", routeOf("wss")],
  ["the expressions router", "expression", ["routes", { paths: ["/"], expression: 'http.path == "/"' }]],
  ["the expressions router", "priority", ["routes", { paths: ["/"], priority: 1 }]],
  ["upstreams", "sticky-sessions", ["upstreams", { name: "a", algorithm: "sticky-sessions" }]],
  ["upstreams", "consumer_group", ["upstreams", { name: "a", hash_on: "consumer_group" }]],
];

for (const [subject, name, [collection, entity]] of refused) {
  test(`${collection} with ${name} are refused, as the list says`, () => {
    assert.ok(namesIn(subject).includes(name), `the row '${subject}' does not name ${name}`);
    const { violations } = checkEntity(collection, entity);
    assert.ok(violations && violations.length > 0, "the entity is accepted");
  });
}

test("every page that the list links to exists", () => {
  for (const [, path = ""] of section.matchAll(/\]\((docs\/[^)#]+)/g))
    assert.ok(readFileSync(join(repositoryRoot, path)), path);
});
