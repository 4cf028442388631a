/** A listener without authentication answers programs of this machine, but no web page. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeTable } from "../testing-table.ts";
import { type BrowserPolicy, browserRefusal } from "./browser-guard.ts";

const host = (value: string): readonly [string, string] => ["Host", value];
const form = "username=x";
const foreign = /answers only for its own address/;

describeTable("a request of another site", [
  {
    does: "is refused with a foreign host",
    ask: "POST /consumers",
    form,
    headers: [host("evil.example")],
    status: 403,
    message: foreign,
  },
  {
    does: "is refused with a host that only resembles the listener's",
    ask: "POST /consumers",
    form,
    headers: [host("127.0.0.1.evil.example:8001")],
    status: 403,
    message: foreign,
  },
  {
    does: "is refused with another machine's address",
    ask: "DELETE /services/base",
    headers: [host("10.0.0.1:8001")],
    status: 403,
    message: foreign,
  },
  {
    does: "may not read keys under a foreign name",
    ask: "GET /key-auths",
    headers: [host("evil.example")],
    status: 403,
    message: foreign,
  },
  { does: "may read that the listener runs", ask: "GET /", headers: [host("evil.example")], status: 200 },
  { does: "may read the status", ask: "GET /status", headers: [host("evil.example")], status: 200 },
  {
    does: "is refused with a foreign origin",
    ask: "POST /consumers",
    form,
    headers: [["Origin", "http://evil.example"]],
    status: 403,
    message: "writes from the origin 'http://evil.example' are refused",
  },
  {
    does: "is refused from another port of this machine",
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
    does: "is refused across sites",
    ask: "POST /consumers",
    form,
    headers: [["Sec-Fetch-Site", "cross-site"]],
    status: 403,
    message: /another web site/,
  },
  {
    does: "is refused across sites if it is a DELETE",
    ask: "DELETE /consumers/base",
    headers: [["Sec-Fetch-Site", "cross-site"]],
    status: 403,
  },
  {
    does: "is refused before its path is checked",
    ask: "POST /nope",
    form,
    headers: [["Origin", "http://evil.example"]],
    status: 403,
  },
  {
    does: "gets no response that another site may read",
    ask: "GET /services",
    headers: [["Origin", "http://evil.example"]],
    status: 200,
    sends: { "access-control-allow-origin": undefined },
  },
  { does: "has changed nothing", ask: "GET /consumers", status: 200, has: { data: [{ username: "base" }] } },
  {
    does: "is accepted for localhost",
    ask: "POST /consumers",
    form: "username=a",
    headers: [host("localhost:8001")],
    status: 201,
  },
  {
    does: "is accepted for an IPv6 loopback address",
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

const doors: BrowserPolicy = { listenHost: "gate.local", scheme: "http", hosts: [], origins: [], anyHost: false };
const asked = { method: "POST", path: "/services", host: "gate.local:8001", origin: undefined, fetchSite: undefined };

test("accepts the name of its listen address, and no request without a Host", () => {
  assert.equal(browserRefusal({ ...asked, host: "Gate.local:8001" }, doors), undefined);
  assert.match(browserRefusal({ ...asked, host: undefined }, doors) ?? "", foreign);
  assert.match(browserRefusal({ ...asked, host: "" }, doors) ?? "", foreign);
  assert.match(browserRefusal({ ...asked, host: "a:b:c" }, doors) ?? "", foreign);
});

test("answers to configured names, and to IP addresses if it listens on a public address", () => {
  const wide = { ...doors, listenHost: "0.0.0.0" };
  assert.match(browserRefusal({ ...asked, host: "sluice-admin.gate:8001" }, wide) ?? "", foreign);
  assert.equal(
    browserRefusal({ ...asked, host: "Sluice-Admin.gate:8001" }, { ...wide, hosts: ["sluice-admin.gate"] }),
    undefined,
  );
  assert.equal(browserRefusal({ ...asked, host: "10.0.0.1:8001" }, wide), undefined);
  assert.equal(browserRefusal({ ...asked, host: "[fd00::1]:8001" }, wide), undefined);
  assert.equal(browserRefusal({ ...asked, host: "any.name" }, { ...wide, anyHost: true }), undefined);
});

test("allows writes from the configured origins, with their scheme", () => {
  const origin = "https://console.example";
  assert.match(browserRefusal({ ...asked, origin }, doors) ?? "", /origin/);
  assert.equal(
    browserRefusal({ ...asked, origin, fetchSite: "cross-site" }, { ...doors, origins: [origin] }),
    undefined,
  );
  assert.match(
    browserRefusal({ ...asked, origin: "http://gate.local:8001" }, { ...doors, scheme: "https" }) ?? "",
    /origin/,
  );
  assert.equal(
    browserRefusal({ ...asked, origin: "https://gate.local:8001" }, { ...doors, scheme: "https" }),
    undefined,
  );
});
