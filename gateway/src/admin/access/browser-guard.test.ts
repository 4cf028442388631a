/**
 * A listener without authentication serves programs on this machine. Pages of foreign origins can neither write nor
 * read entities.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeTable } from "../testing-table.ts";
import { type BrowserPolicy, browserRefusal } from "./browser-guard.ts";

const host = (value: string): readonly [string, string] => ["Host", value];
const form = "username=x";
const foreign = /answers only for its own address/;

describeTable("a request to a listener without authentication", [
  {
    does: "is refused with a foreign Host",
    ask: "POST /consumers",
    form,
    headers: [host("evil.example")],
    status: 403,
    message: foreign,
  },
  {
    does: "is refused with a Host that only resembles the listener's",
    ask: "POST /consumers",
    form,
    headers: [host("127.0.0.1.evil.example:8001")],
    status: 403,
    message: foreign,
  },
  {
    does: "is refused with the address of a different machine as its Host",
    ask: "DELETE /services/base",
    headers: [host("10.0.0.1:8001")],
    status: 403,
    message: foreign,
  },
  {
    does: "may not read keys with a foreign Host",
    ask: "GET /key-auths",
    headers: [host("evil.example")],
    status: 403,
    message: foreign,
  },
  { does: "may read the root page with a foreign Host", ask: "GET /", headers: [host("evil.example")], status: 200 },
  { does: "may read the status with a foreign Host", ask: "GET /status", headers: [host("evil.example")], status: 200 },
  {
    does: "is refused with a foreign Origin",
    ask: "POST /consumers",
    form,
    headers: [["Origin", "http://evil.example"]],
    status: 403,
    message: "writes from the origin 'http://evil.example' are refused",
  },
  {
    does: "is refused from a page on a different port of this machine",
    ask: "POST /consumers",
    form,
    headers: [["Origin", "http://127.0.0.1:3000"]],
    status: 403,
    message: /origin/,
  },
  {
    does: "is refused from a page with the origin null",
    ask: "POST /consumers",
    form,
    headers: [["Origin", "null"]],
    status: 403,
    message: /origin 'null'/,
  },
  {
    does: "is refused if its header Sec-Fetch-Site is cross-site",
    ask: "POST /consumers",
    form,
    headers: [["Sec-Fetch-Site", "cross-site"]],
    status: 403,
    message: /another web site/,
  },
  {
    does: "is refused if it is a cross-site DELETE",
    ask: "DELETE /consumers/base",
    headers: [["Sec-Fetch-Site", "cross-site"]],
    status: 403,
  },
  {
    does: "is refused for a foreign Origin before its path is checked",
    ask: "POST /nope",
    form,
    headers: [["Origin", "http://evil.example"]],
    status: 403,
  },
  {
    does: "gets a response without Access-Control-Allow-Origin if its Origin is foreign",
    ask: "GET /services",
    headers: [["Origin", "http://evil.example"]],
    status: 200,
    sends: { "access-control-allow-origin": undefined },
  },
  {
    does: "changes nothing if it is refused",
    ask: "GET /consumers",
    status: 200,
    has: { data: [{ username: "base" }] },
  },
  {
    does: "is accepted with the Host localhost",
    ask: "POST /consumers",
    form: "username=a",
    headers: [host("localhost:8001")],
    status: 201,
  },
  {
    does: "is accepted with an IPv6 loopback address as its Host",
    ask: "POST /consumers",
    form: "username=b",
    headers: [host("[::1]:8001")],
    status: 201,
  },
  {
    does: "is accepted from the listener's own origin",
    ask: "POST /consumers",
    form: "username=c",
    headers: [host("localhost:8001"), ["Origin", "http://localhost:8001"]],
    status: 201,
  },
  {
    does: "is accepted from a tool that sends Sec-Fetch-Site: none",
    ask: "POST /consumers",
    form: "username=d",
    headers: [["Sec-Fetch-Site", "none"]],
    status: 201,
  },
]);

const policy: BrowserPolicy = { listenHost: "gate.local", scheme: "http", hosts: [], origins: [], anyHost: false };
const asked = { method: "POST", path: "/services", host: "gate.local:8001", origin: undefined, fetchSite: undefined };

test("the browser guard accepts the name of the listen address, and refuses a missing or invalid Host", () => {
  assert.equal(browserRefusal({ ...asked, host: "Gate.local:8001" }, policy), undefined);
  assert.match(browserRefusal({ ...asked, host: undefined }, policy) ?? "", foreign);
  assert.match(browserRefusal({ ...asked, host: "" }, policy) ?? "", foreign);
  assert.match(browserRefusal({ ...asked, host: "a:b:c" }, policy) ?? "", foreign);
});

test("the browser guard accepts configured host names, any IP address if the listener is not on loopback, and every host with anyHost", () => {
  const wide = { ...policy, listenHost: "0.0.0.0" };
  assert.match(browserRefusal({ ...asked, host: "sluice-admin.gate:8001" }, wide) ?? "", foreign);
  assert.equal(
    browserRefusal({ ...asked, host: "Sluice-Admin.gate:8001" }, { ...wide, hosts: ["sluice-admin.gate"] }),
    undefined,
  );
  assert.equal(browserRefusal({ ...asked, host: "10.0.0.1:8001" }, wide), undefined);
  assert.equal(browserRefusal({ ...asked, host: "[fd00::1]:8001" }, wide), undefined);
  assert.equal(browserRefusal({ ...asked, host: "any.name" }, { ...wide, anyHost: true }), undefined);
});

test("the browser guard allows writes from configured origins, and from the listener's own origin with the listener's scheme", () => {
  const origin = "https://console.example";
  assert.match(browserRefusal({ ...asked, origin }, policy) ?? "", /origin/);
  assert.equal(
    browserRefusal({ ...asked, origin, fetchSite: "cross-site" }, { ...policy, origins: [origin] }),
    undefined,
  );
  assert.match(
    browserRefusal({ ...asked, origin: "http://gate.local:8001" }, { ...policy, scheme: "https" }) ?? "",
    /origin/,
  );
  assert.equal(
    browserRefusal({ ...asked, origin: "https://gate.local:8001" }, { ...policy, scheme: "https" }),
    undefined,
  );
});
