/** What the API server itself accepts and refuses, by the schemas and CEL rules of the CRDs. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { resource } from "../resources.ts";

type Kind = Parameters<typeof resource>[0];
/** What is tried, the spec, and what kubectl says; null: it is accepted. */
type Row = readonly [what: string, spec: object, refusal: RegExp | null];

const url = { url: "http://users:4000" };
const paths = { paths: ["/users"] };
const uuid = "2b7a4f0e-64d5-4d5e-8d0a-6f9f6d2f8a11";
const secretRef = { name: "demo-key", key: "key" };

const tables: Readonly<Record<Kind, readonly Row[]>> = {
  Service: [
    ["a url", url, null],
    ["a url with port and path", { url: "https://users.example:8443/api" }, null],
    ["host, port, protocol and path", { host: "users", port: 4000, protocol: "http", path: "/api" }, null],
    ["a backendRef", { backendRef: { name: "users", port: 80 } }, null],
    ["every member that all kinds have", { ...url, name: "a.b", id: uuid, tags: ["a", "b c"], class: "other" }, null],
    ["timeouts and retries at their bounds", { ...url, connectTimeout: 1, readTimeout: 2147483646, retries: 0 }, null],
    ["a client certificate", { url: "https://users", clientCertificateRef: { name: "client" } }, null],
    [
      "a client certificate for a plain upstream",
      { ...url, clientCertificateRef: { name: "client" } },
      /clientCertificateRef is for protocol https only/,
    ],
    [
      "headers with values in clear and from a Secret",
      {
        ...url,
        upstreamHeaders: [
          { name: "X-A_1", value: "v" },
          { name: "X-B", secretRef: { name: "s", key: "k" } },
        ],
      },
      null,
    ],
    [
      "a header without value",
      { ...url, upstreamHeaders: [{ name: "X-A" }] },
      /set exactly one of value and secretRef/,
    ],
    [
      "a header with two values",
      { ...url, upstreamHeaders: [{ name: "X-A", value: "v", secretRef: { name: "s", key: "k" } }] },
      /set exactly one of value and secretRef/,
    ],
    [
      "a header without name",
      { ...url, upstreamHeaders: [{ value: "v" }] },
      /upstreamHeaders\[0\]\.name: Required value/,
    ],
    [
      "a header whose name is none",
      { ...url, upstreamHeaders: [{ name: "X A", value: "v" }] },
      /upstreamHeaders\[0\]\.name.*should match/,
    ],
    [
      "two headers of one name",
      {
        ...url,
        upstreamHeaders: [
          { name: "X-A", value: "v" },
          { name: "X-A", value: "w" },
        ],
      },
      /upstreamHeaders\[1\]: Duplicate value/,
    ],
    [
      "more headers than there may be",
      { ...url, upstreamHeaders: Array.from({ length: 17 }, (_, n) => ({ name: `X-${n}`, value: "v" })) },
      /upstreamHeaders: Too many: 17: must have at most 16 items/,
    ],
    ["no address", {}, /set exactly one of url, host and backendRef/],
    ["url and host", { ...url, host: "users" }, /set exactly one of url, host and backendRef/],
    ["url and backendRef", { ...url, backendRef: { name: "users", port: 80 } }, /set exactly one of/],
    ["url and port", { ...url, port: 80 }, /url says protocol, port and path already: leave them out/],
    ["url and path", { ...url, path: "/api" }, /url says protocol, port and path already/],
    ["backendRef and port", { backendRef: { name: "users", port: 80 }, port: 80 }, /backendRef says the port already/],
    ["a url without protocol", { url: "users:4000" }, /write it as <protocol>:\/\/<host>\[:<port>\]\[\/<path>\]/],
    ["a url without host", { url: "http://" }, /write it as/],
    ["a port as text", { host: "users", port: "80" }, /spec\.port: Invalid value: "string".*must be of type integer/],
    ["a port out of range", { host: "users", port: 65536 }, /spec\.port.*less than or equal to 65535/],
    ["an unknown protocol", { host: "users", protocol: "ftp" }, /spec\.protocol: Unsupported value: "ftp"/],
    ["a timeout of zero", { ...url, readTimeout: 0 }, /spec\.readTimeout.*greater than or equal to 1/],
    ["negative retries", { ...url, retries: -1 }, /spec\.retries.*greater than or equal to 0/],
    ["an unknown field", { ...url, retrys: 1 }, /unknown field "spec\.retrys"/],
    ["the admin API's spelling", { ...url, connect_timeout: 1 }, /unknown field "spec\.connect_timeout"/],
    ["an id that is no UUID", { ...url, id: "users" }, /spec\.id/],
    ["an empty tag", { ...url, tags: [""] }, /spec\.tags\[0\]/],
    ["a class with capitals", { ...url, class: "Sluice" }, /spec\.class/],
  ],
  Upstream: [
    ["a name and targets", { name: "users.internal", targets: [{ target: "10.0.0.1:80" }, { target: "a" }] }, null],
    ["a target with everything", { targets: [{ target: "[::1]:80", weight: 0, id: uuid, tags: ["a"] }] }, null],
    ["nothing but its resource's name", {}, null],
    [
      "health checks",
      { healthchecks: { active: { httpPath: "/up", headers: { "x-a": ["b"] }, healthy: { interval: 0.5 } } } },
      null,
    ],
    ["a hash on a header", { algorithm: "consistent-hashing", hashOn: "header", hashOnHeader: "x-user" }, null],
    ["a fallback beside it", { hashOn: "ip", hashFallback: "cookie", hashOnCookie: "c" }, null],
    ["a client certificate", { clientCertificateRef: { name: "client" } }, null],
    ["a target twice", { targets: [{ target: "a" }, { target: "a" }] }, /spec\.targets\[1\]: Duplicate value/],
    ["a target with a path", { targets: [{ target: "http://a/b" }] }, /spec\.targets\[0\]\.target/],
    ["a target without address", { targets: [{ weight: 1 }] }, /spec\.targets\[0\]\.target: Required value/],
    ["a weight out of range", { targets: [{ target: "a", weight: 65536 }] }, /targets\[0\]\.weight/],
    ["a hash on a header without its name", { hashOn: "header" }, /hashOn header needs hashOnHeader/],
    ["a fallback to a cookie without its name", { hashOn: "ip", hashFallback: "cookie" }, /needs hashOnCookie/],
    ["a fallback from nothing", { hashFallback: "ip" }, /hashFallback needs a hashOn other than none and cookie/],
    ["an unknown algorithm", { algorithm: "random" }, /spec\.algorithm: Unsupported value/],
    ["too few slots", { slots: 9 }, /spec\.slots.*greater than or equal to 10/],
    ["a threshold above 100", { healthchecks: { threshold: 101 } }, /spec\.healthchecks\.threshold/],
    ["Kong's spelling inside", { healthchecks: { active: { http_path: "/" } } }, /unknown field/],
    ["a certificate by its id", { client_certificate: { id: uuid } }, /unknown field/],
  ],
  Certificate: [
    ["a Secret", { secretRef: { name: "tls" } }, null],
    ["server names", { secretRef: { name: "tls" }, snis: [{ name: "a.example" }, { name: "*.b.example" }] }, null],
    ["a name with everything", { secretRef: { name: "tls" }, snis: [{ name: "a.*", id: uuid, tags: ["a"] }] }, null],
    ["no Secret", { snis: [{ name: "a.example" }] }, /spec\.secretRef: Required value/],
    ["a key in the resource", { secretRef: { name: "tls" }, key: "hunter2" }, /unknown field "spec\.key"/],
    ["an entry of the Secret", { secretRef: { name: "tls", key: "tls.crt" } }, /unknown field/],
    ["a Secret of another namespace", { secretRef: { name: "a", namespace: "b" } }, /unknown field/],
    ["a name twice", { secretRef: { name: "tls" }, snis: [{ name: "a" }, { name: "a" }] }, /Duplicate value/],
    ["a star in the middle", { secretRef: { name: "tls" }, snis: [{ name: "a.*.b" }] }, /one \* may stand for/],
    ["two stars", { secretRef: { name: "tls" }, snis: [{ name: "*.*" }] }, /one \* may stand for/],
    ["names as texts", { secretRef: { name: "tls" }, snis: ["a.example"] }, /spec\.snis\[0\].*must be of type object/],
  ],
  Route: [
    ["paths", paths, null],
    ["a service and a regex path", { serviceRef: { name: "users" }, paths: ["~/users/\\d+$"] }, null],
    ["hosts alone", { hosts: ["*.example.org"] }, null],
    ["methods alone", { methods: ["GET", "PROPFIND"] }, null],
    ["headers alone", { headers: { "x-version": ["1", "2"] } }, null],
    ["snis for https", { protocols: ["https"], snis: ["example.org"] }, null],
    ["nothing to match", {}, /set at least one of paths, hosts, methods and headers/],
    ["empty lists to match", { paths: [], hosts: [] }, /set at least one of/],
    ["a path without a slash", { paths: ["users"] }, /should start with: \/ \(fixed path\) or ~\/ \(regex path\)/],
    ["a method in lower case", { methods: ["get"] }, /methods are written in upper case: GET/],
    ["the header Host", { headers: { HOST: ["a"] } }, /headers may not hold Host: use hosts/],
    ["a header without values", { ...paths, headers: { "x-version": [] } }, /spec\.headers/],
    ["an unknown path handling", { ...paths, pathHandling: "v2" }, /spec\.pathHandling: Unsupported value/],
    ["an unknown redirect", { ...paths, httpsRedirectStatusCode: 303 }, /spec\.httpsRedirectStatusCode/],
    ["no protocols", { ...paths, protocols: [] }, /spec\.protocols.*at least 1 items/],
    ["a path as text", { paths: "/users" }, /spec\.paths.*must be of type array/],
    ["stripPath as text", { ...paths, stripPath: "yes" }, /spec\.stripPath.*must be of type boolean/],
    ["a service by its address", { ...paths, serviceRef: { name: "http://users" } }, /spec\.serviceRef\.name/],
    ["a serviceRef to another namespace", { ...paths, serviceRef: { name: "a", namespace: "b" } }, /unknown field/],
    ["more paths than the bound", { paths: Array(65).fill("/a") }, /spec\.paths: Too many: 65: must have at most 64/],
  ],
  Plugin: [
    ["a plugin for everything", { plugin: "prometheus" }, null],
    [
      "one target of each kind",
      { plugin: "rate-limiting", targetRefs: ["Service", "Route", "Consumer"].map((kind) => ({ kind, name: "a" })) },
      null,
    ],
    [
      "any config: the operator looks at it",
      { plugin: "cors", config: { nested: { anything: [1, "a", null] } } },
      null,
    ],
    ["a config member from a Secret", { plugin: "cors", configFrom: [{ path: "redis.password", secretRef }] }, null],
    ["no plugin", { config: {} }, /spec\.plugin: Required value/],
    ["an unknown plugin", { plugin: "oauth2" }, /spec\.plugin: Unsupported value: "oauth2"/],
    [
      "two targets of one kind",
      { plugin: "cors", targetRefs: ["a", "b"].map((name) => ({ kind: "Route", name })) },
      /spec\.targetRefs\[1\]: Duplicate value/,
    ],
    ["an unknown target", { plugin: "cors", targetRefs: [{ kind: "Pod", name: "a" }] }, /Unsupported value: "Pod"/],
    [
      "cors on a consumer",
      { plugin: "cors", targetRefs: [{ kind: "Consumer", name: "a" }] },
      /cors and key-auth cannot be attached to a Consumer/,
    ],
    [
      "key-auth on a consumer",
      { plugin: "key-auth", targetRefs: [{ kind: "Consumer", name: "a" }] },
      /cors and key-auth cannot be attached to a Consumer/,
    ],
    ["config that is a list", { plugin: "cors", config: [] }, /spec\.config.*must be of type object/],
    [
      "a config path with capitals",
      { plugin: "cors", configFrom: [{ path: "A", secretRef }] },
      /configFrom\[0\]\.path/,
    ],
  ],
  Consumer: [
    ["a username", { username: "ann" }, null],
    ["a custom id", { customId: "17" }, null],
    ["keys in Secrets", { username: "ann", keyAuth: [{ secretRef, ttl: 60, tags: ["a"], id: uuid }] }, null],
    ["nobody", {}, /set username, customId or both/],
    ["an empty username", { username: "" }, /spec\.username/],
    [
      "a key in the resource",
      { username: "ann", keyAuth: [{ key: "hunter2" }] },
      /unknown field "spec\.keyAuth\[0\]\.key"/,
    ],
    [
      "a Secret without its key",
      { username: "ann", keyAuth: [{ secretRef: { name: "a" } }] },
      /secretRef\.key: Required/,
    ],
    ["a negative ttl", { username: "ann", keyAuth: [{ secretRef, ttl: -1 }] }, /keyAuth\[0\]\.ttl/],
  ],
};

let plane: ControlPlane;
before(async () => {
  plane = await startControlPlane();
  await plane.kubectl(["apply", "--server-side", "-f", new URL("../../../crds", import.meta.url).pathname]);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
});
after(() => plane?.stop());

const create = (item: object) => plane.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(item));

for (const [kind, rows] of Object.entries(tables) as [Kind, readonly Row[]][]) {
  describe(`a ${kind}`, () => {
    for (const [what, spec, refusal] of rows) {
      test(`with ${what} is ${refusal ? "refused" : "accepted"}`, async () => {
        const created = create(resource(kind, "tried", spec));
        if (refusal) await assert.rejects(created, refusal);
        else assert.match(await created, /created \(server dry run\)/);
      });
    }
  });
}

test("status is no part of what is applied", async () => {
  const conditions = [{ type: "Programmed", status: "True", reason: "Made", message: "up" }];
  const made = { ...resource("Service", "made-up", url), status: { conditions } };
  await plane.kubectl(["create", "-f", "-"], JSON.stringify(made));
  assert.equal(await plane.kubectl(["get", "gwsvc", "made-up", "-o", "jsonpath={.status}"]), "");
});

test("kubectl explain tells what a member means", async () => {
  assert.match(await plane.kubectl(["explain", "routes.sluice.dev.spec.stripPath"]), /FIELD: stripPath <boolean>/);
});
