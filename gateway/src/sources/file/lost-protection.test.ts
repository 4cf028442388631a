import assert from "node:assert/strict";
import { test } from "node:test";
import { loadText, type Snapshot } from "@sluice/model";
import { describeLostProtection } from "./lost-protection.ts";

function snapshotOf(text: string): Snapshot {
  const { value, violations } = loadText(text);
  return value?.snapshot ?? assert.fail(JSON.stringify(violations));
}

const head = '_format_version: "3.0"\n';
const shop = (plugins: string, more = "") =>
  `${head}services:\n- name: shop\n  url: http://shop.test\n  routes:\n  - {name: shop, paths: [/shop]}\n${plugins}${more}`;
const onService = (config: string) => `  plugins:\n  - ${config}\n`;
const other = "- name: other\n  url: http://other.test\n  routes:\n  - {name: other, paths: [/other]}\n";
const global = (name: string, more = "") => `plugins:\n- {name: ${name}${more}}\n`;
const keyAuth = shop(onService("{name: key-auth}"));
const demo = "consumers:\n- username: demo\n";
const inGold = `${demo}  groups: [{name: gold}]\n`;
const gold = "consumer_groups:\n- name: gold\n";
const goldLimit = `${gold}  plugins:\n  - {name: rate-limiting, config: {minute: 5}}\n`;

/** A route for all paths, without a plugin. */
const openSite = "  - {name: site, paths: [/]}\n";
/** A service with the unprotected route for all paths and the given routes. */
const site = (routes: string) =>
  `${head}services:\n- name: site\n  url: http://site.test\n  routes:\n${openSite}${routes}`;
const protectedAdmin = "  - {name: admin, paths: [/admin], plugins: [{name: key-auth}]}\n";

/** A service with an unprotected route for all connections to a port, and a protected one for these sources. */
const database = (sources: string) =>
  `${head}services:\n- name: db\n  url: tcp://db.test:1\n  routes:\n  - {name: any, protocols: [tcp], destinations: [{port: 9000}]}\n` +
  `  - {name: inner, protocols: [tcp], sources: ${sources}, plugins: [{name: ip-restriction, config: {deny: [10.0.0.2]}}]}\n`;

/** A file before and after a change, and the plugin whose protection is lost. */
const changes: readonly (readonly [what: string, before: string, now: string, lost: string | null])[] = [
  ["nothing changes", keyAuth, keyAuth, null],
  [
    "a protected route of connections loses a source",
    database("[{ip: 10.0.0.1}, {ip: 10.0.0.2}]"),
    database("[{ip: 10.0.0.1}]"),
    "ip-restriction of route inner",
  ],
  [
    "a protected route of connections gets a source",
    database("[{ip: 10.0.0.1}]"),
    database("[{ip: 10.0.0.1}, {port: 1}]"),
    null,
  ],
  [
    "a consumer leaves a group with a rate limit",
    shop("", inGold + goldLimit),
    shop("", demo + goldLimit),
    "rate-limiting of consumer demo, who leaves a consumer group",
  ],
  ["a consumer leaves a group without plugins", shop("", inGold + gold), shop("", demo + gold), null],
  ["a consumer of a group with a rate limit is removed", shop("", inGold + goldLimit), shop("", goldLimit), null],
  [
    "a rate limit of all requests is attached to a consumer group",
    shop("", `${gold}${global("rate-limiting", ", config: {minute: 5}")}`),
    shop("", goldLimit),
    "rate-limiting of route shop",
  ],
  ["a service loses its key-auth", keyAuth, shop(""), "key-auth of route shop"],
  [
    "a service's key-auth is disabled",
    keyAuth,
    shop(onService("{name: key-auth, enabled: false}")),
    "key-auth of route shop",
  ],
  [
    "a service's key-auth is limited to https",
    keyAuth,
    shop(onService("{name: key-auth, protocols: [https]}")),
    "key-auth of route shop",
  ],
  ["a global key-auth is removed", shop(global("key-auth")), shop(""), "key-auth of route shop"],
  ["a global key-auth is attached to the service", shop(global("key-auth")), keyAuth, null],
  ["a key-auth of the service becomes global", keyAuth, shop(global("key-auth")), null],
  [
    "a key-auth is attached to another service",
    keyAuth,
    shop("", `${other}  plugins:\n  - {name: key-auth}\n`),
    "key-auth of route shop",
  ],
  [
    "a rate limit gets a different value",
    shop(onService("{name: rate-limiting, config: {minute: 5}}")),
    shop(onService("{name: rate-limiting, config: {minute: 6}}")),
    null,
  ],
  [
    "a rate limit becomes a key-auth",
    shop(onService("{name: rate-limiting, config: {minute: 5}}")),
    keyAuth,
    "rate-limiting of route shop",
  ],
  ["a cors plugin is removed", shop(onService("{name: cors}")), shop(""), null],
  ["a disabled key-auth is removed", shop(onService("{name: key-auth, enabled: false}")), shop(""), null],
  [
    "a key-auth is removed together with its routes",
    keyAuth,
    `${head}services:\n- {name: shop, url: "http://shop.test"}\n`,
    null,
  ],
  [
    "a route with key-auth is removed, and a wider route without key-auth leads to the same service",
    site(protectedAdmin),
    site(""),
    "key-auth of route admin",
  ],
  [
    "a route with key-auth is removed, and a wider route without key-auth leads to the same address through another service",
    `${site("")}- name: back\n  url: http://site.test\n  routes:\n${protectedAdmin}`,
    site(""),
    "key-auth of route admin",
  ],
  [
    "a path of a route with key-auth is removed, and a wider route without key-auth leads to the same service",
    site(protectedAdmin.replace("[/admin]", "[/admin, /secret]")),
    site(protectedAdmin),
    "key-auth of route admin",
  ],
  [
    "a host of a route with key-auth is changed, and a wider route without key-auth leads to the same service",
    site(protectedAdmin.replace("paths", "hosts: [a.test], paths")),
    site(protectedAdmin.replace("paths", "hosts: [b.test], paths")),
    "key-auth of route admin",
  ],
  [
    "a route with key-auth is limited to some hosts, and a wider route without key-auth leads to the same service",
    site(protectedAdmin),
    site(protectedAdmin.replace("paths", "hosts: [b.test], paths")),
    "key-auth of route admin",
  ],
  [
    "a route with key-auth is extended to all methods, and a wider route without key-auth leads to the same service",
    site(protectedAdmin.replace("paths", "methods: [GET], paths")),
    site(protectedAdmin),
    null,
  ],
  [
    "a path is added to a route with key-auth, and a wider route without key-auth leads to the same service",
    site(protectedAdmin),
    site(protectedAdmin.replace("[/admin]", "[/admin, /secret]")),
    null,
  ],
  [
    "a route with key-auth is removed, and a route without key-auth leads to another upstream",
    `${keyAuth}${other}`,
    `${head}services:\n${other}`,
    null,
  ],
  [
    "a route with key-auth is removed, and the other routes of its service have their own key-auth",
    site(`${protectedAdmin}${protectedAdmin.replaceAll("admin", "more")}`).replace(openSite, ""),
    site(protectedAdmin).replace(openSite, ""),
    null,
  ],
  ["an unprotected route is added", keyAuth, shop(onService("{name: key-auth}"), other), null],
  [
    "a route is moved to an unprotected service",
    shop(onService("{name: key-auth}"), other),
    `${head}services:\n- name: shop\n  url: http://shop.test\n  plugins:\n  - {name: key-auth}\n${other}  - {name: shop, paths: [/shop]}\n`,
    "key-auth of route shop",
  ],
  [
    "a consumer loses its rate limit",
    `${shop("", demo)}  plugins:\n  - {name: rate-limiting, config: {minute: 5}}\n`,
    shop("", demo),
    "rate-limiting of route shop",
  ],
  [
    "a consumer is removed with its rate limit",
    `${shop("", demo)}  plugins:\n  - {name: rate-limiting, config: {minute: 5}}\n`,
    shop(""),
    null,
  ],
];
for (const [what, before, now, lost] of changes)
  test(`when ${what}, ${lost ?? "no protection"} is lost`, () =>
    assert.equal(describeLostProtection(snapshotOf(before), snapshotOf(now)), lost));

test("a route that loses key-auth is detected in every incomplete prefix of a file that is being written", () => {
  const whole = shop(
    "",
    `${other}${demo}plugins:\n- name: key-auth\n- name: rate-limiting\n  service: shop\n  config:\n    minute: 60\n`,
  );
  const before = snapshotOf(whole);
  let documents = 0;
  for (let end = 0; end < whole.length; end++) {
    const { value } = loadText(whole.slice(0, end));
    if (!value) continue;
    documents++;
    const names = new Set([...value.snapshot.plugins.values()].map(({ name }) => name));
    const open = value.snapshot.routes.size > 0 && !names.has("key-auth");
    assert.equal(
      describeLostProtection(before, value.snapshot)?.startsWith("key-auth") ?? false,
      open,
      whole.slice(0, end),
    );
  }
  assert.ok(documents > 10, `${documents} documents`);
});
