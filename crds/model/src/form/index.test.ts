import assert from "node:assert/strict";
import { test } from "node:test";
import type { Collection } from "../entities/index.ts";
import { decodeForm } from "./index.ts";

const decoded: readonly (readonly [collection: Collection, body: string, value: unknown])[] = [
  ["services", "", {}],
  ["services", "name=users&url=http%3A%2F%2F127.0.0.1%3A4000", { name: "users", url: "http://127.0.0.1:4000" }],
  ["services", "name=a+b%20c%2B", { name: "a b c+" }],
  ["services", "name=gr%C3%B6%C3%9Fe", { name: "größe" }],
  ["services", "name=a=b", { name: "a=b" }],
  ["services", "name=&path&url=", { name: null, path: null, url: null }],
  ["services", "port=80&retries=+5&read_timeout=1e3", { port: 80, retries: 5, read_timeout: 1000 }],
  ["services", "port=0x50&retries=5x", { port: "0x50", retries: "5x" }],
  ["services", "enabled=false&tls_verify=true", { enabled: false, tls_verify: true }],
  ["services", "enabled=1&tls_verify=yes", { enabled: "1", tls_verify: "yes" }],
  ["services", "client_certificate.id=x", { client_certificate: { id: "x" } }],
  ["services", "unknown=5&tags=a", { unknown: "5", tags: ["a"] }],
  ["services", "name=a&name=b", { name: ["a", "b"] }],
  ["services", "name[]=a", { name: ["a"] }],
  ["services", ".name=a&name.=b", { ".name": "a", "name.": "b" }],
  ["services", "a[b=1&a]=2", { "a[b": "1", "a]": "2" }],
  ["routes", "paths[]=/a&paths[]=/b", { paths: ["/a", "/b"] }],
  ["routes", "paths%5B%5D=/a", { paths: ["/a"] }],
  ["routes", "paths=/a&paths=/b", { paths: ["/a", "/b"] }],
  ["routes", "paths=/a", { paths: ["/a"] }],
  ["routes", "paths=", { paths: null }],
  ["routes", "paths[]=", { paths: [null] }],
  ["routes", "paths[2]=/b&paths[1]=/a", { paths: ["/a", "/b"] }],
  ["routes", "paths[7]=/b", { paths: ["/b"] }],
  ["routes", "paths[]=/c&paths[1]=/a", { paths: ["/a", "/c"] }],
  ["routes", "headers[x-a]=1&headers[x.b]=2&headers[x.b]=3", { headers: { "x-a": ["1"], "x.b": ["2", "3"] } }],
  ["routes", "headers.x=1", { headers: { x: ["1"] } }],
  ["routes", "headers[constructor]=1", { headers: { constructor: ["1"] } }],
  ["routes", "service.id=x", { service: { id: "x" } }],
  ["routes", "service.name=users", { service: { name: "users" } }],
  [
    "routes",
    "sources[1].ip=10.0.0.1&sources[1].port=5&sources[2].port=6",
    { sources: [{ ip: "10.0.0.1", port: 5 }, { port: 6 }] },
  ],
  ["routes", "sources[].ip=10.0.0.1&sources[].port=5", { sources: [{ ip: "10.0.0.1", port: 5 }] }],
  ["routes", "https_redirect_status_code=301&strip_path=false", { https_redirect_status_code: 301, strip_path: false }],
  ["consumers", "username=5", { username: "5" }],
  ["keyauth_credentials", "key=true&ttl=60", { key: "true", ttl: 60 }],
  ["plugins", "name=cors&config.origins=*", { name: "cors", config: { origins: ["*"] } }],
  [
    "plugins",
    "name=cors&config.credentials=true&config.max_age=5",
    { name: "cors", config: { credentials: true, max_age: 5 } },
  ],
  [
    "plugins",
    "name=rate-limiting&config.minute=60&config.policy=local&config.redis.port=1&config.redis.ssl=true",
    { name: "rate-limiting", config: { minute: 60, policy: "local", redis: { port: 1, ssl: true } } },
  ],
  ["plugins", "name=rate-limiting&config.redis_port=1", { name: "rate-limiting", config: { redis_port: 1 } }],
  ["plugins", "name=rate-limiting&config.minute=", { name: "rate-limiting", config: { minute: null } }],
  ["plugins", "name=nope&config.minute=60", { name: "nope", config: { minute: "60" } }],
  ["plugins", "name=toString&config.minute=60", { name: "toString", config: { minute: "60" } }],
  ["plugins", "name=cors&config=x", { name: "cors", config: "x" }],
  ["certificates", "snis=a.example", { snis: ["a.example"] }],
  ["certificates", "snis[]=a.example&snis[]=b.example", { snis: ["a.example", "b.example"] }],
  ["certificates", "snis=", { snis: null }],
];

for (const [collection, body, value] of decoded) {
  test(`decodeForm reads ${JSON.stringify(body)} for ${collection}`, () => {
    assert.deepEqual(decodeForm(body, collection), { value });
  });
}

const refused: readonly (readonly [body: string, path: readonly (string | number)[], message: string])[] = [
  ["__proto__=1", ["__proto__"], "unknown field"],
  ["config.__proto__.a=1", ["config", "__proto__", "a"], "unknown field"],
  ["config[__proto__]=1", ["config", "__proto__"], "unknown field"],
  ["a=%", ["a"], "not percent-encoded UTF-8"],
  ["a=%ff", ["a"], "not percent-encoded UTF-8"],
  ["a%ff=1", ["a%ff"], "not percent-encoded UTF-8"],
  ["config=1&config.a=1", ["config"], "has both a value and members"],
  ["a[1]=1&a.b=1", ["a"], "has both a value and members"],
  ["a[0]=1", ["a"], "list positions are between 1 and 1000, not 0"],
  // The violation is at the list: an error body with as many positions as a client requests would exhaust memory.
  ["a[999999999999].b=1", ["a"], "list positions are between 1 and 1000, not 999999999999"],
  ["a[999999999999].b=%ff", ["a"], "list positions are between 1 and 1000, not 999999999999"],
  ["a[999999999999].__proto__=1", ["a"], "list positions are between 1 and 1000, not 999999999999"],
  [`a[999999999999]${".b".repeat(9)}=1`, ["a"], "list positions are between 1 and 1000, not 999999999999"],
  // A path may have as many steps as a client sends, so the violation is at its first eight steps.
  [`a${".b".repeat(8)}=1`, ["a", ..."b".repeat(7)], "nested deeper than 8 levels"],
  [`a${"[b]".repeat(100_000)}=%ff`, ["a", ..."b".repeat(7)], "nested deeper than 8 levels"],
  [`a${".b".repeat(100_000)}.__proto__=1`, ["a", ..."b".repeat(7)], "nested deeper than 8 levels"],
  ["a=1&".repeat(1001), [], "more than 1000 arguments"],
];

for (const [body, path, message] of refused) {
  test(`decodeForm refuses ${body.slice(0, 40)}`, () => {
    assert.deepEqual(decodeForm(body, "plugins"), { violations: [{ path, message }] });
  });
}

test("decodeForm reports all errors of a form together", () => {
  assert.equal(decodeForm("__proto__=1&a=%&b=1&b.c=1", "plugins").violations?.length, 3);
});

test("decodeForm uses the plugin's name from the changed entity if the form has none", () => {
  assert.deepEqual(decodeForm("config.minute=5", "plugins", { before: { name: "rate-limiting" } }).value, {
    config: { minute: 5 },
  });
});

test("decodeForm uses the parts of a multipart body without decoding them again", () => {
  const parts = [
    { name: "config.minute", text: "5" },
    { name: "name", text: "rate-limiting" },
    { name: "tags[]", text: "a%20b" },
  ];
  assert.deepEqual(decodeForm(parts, "plugins").value, {
    name: "rate-limiting",
    tags: ["a%20b"],
    config: { minute: 5 },
  });
});
