/**
 * Bad input to every writable store: a clear response, no partial writes, and a process that continues.
 *
 * Cases of the tables in test/conformance/admin are not repeated here.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Collection, deriveId, entities, pluginNames } from "@sluice/model";
import type { Reply } from "../../../gateway/src/admin/testing.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { neededConfigs } from "../../plugins/filled-configs.ts";
import {
  type AskAdmin,
  batch,
  connectAdmin,
  listAllEntities,
  type ShownEntity,
  sendAndDisconnect,
} from "./admin-client.ts";
import {
  bodyWith,
  hostileTexts,
  placesOfConfig,
  sql,
  type TextPath,
  textPathsOf,
  valueAtPath,
} from "./hostile-texts.ts";
import { creationRequests, standingCertificate, standingWrites } from "./standing-entities.ts";
import { type RunningStore, writableStores } from "./stores.ts";

const unknown = "99999999-9999-4999-8999-999999999999";

const routeOf = (body: object) => ({ method: "POST", path: "/routes", body });
const serviceOf = (name: string) => ({ method: "PUT", path: `/services/${name}`, body: { host: "a" } });

/** Requests with references to missing entities, or with circular references. */
const faultyReferences: readonly (readonly [what: string, method: string, path: string, json: object])[] = [
  ["a route of a missing service", "POST", "/routes", { paths: ["/"], service: { id: unknown } }],
  ["a route of a missing service, by name", "POST", "/routes", { paths: ["/"], service: { name: "none" } }],
  ["a route that is its own service", "PUT", `/routes/${unknown}`, { paths: ["/"], service: { id: unknown } }],
  [
    "a route with the id of a consumer as its service",
    "POST",
    "/routes",
    { paths: ["/"], service: { id: deriveId("consumers", "base") } },
  ],
  ["a service with a missing certificate", "PATCH", "/services/base", { client_certificate: { id: unknown } }],
  ["an upstream of a missing certificate", "PATCH", "/upstreams/base.example", { client_certificate: { id: unknown } }],
  ["a server name of a missing certificate", "POST", "/snis", { name: "a.example", certificate: { id: unknown } }],
  ["a key of a missing consumer", "POST", "/key-auths", { key: "a", consumer: { id: unknown } }],
  ["a plugin of a missing consumer", "POST", "/plugins", { name: "rate-limiting", consumer: { id: unknown } }],
  ["a plugin of a missing route", "PATCH", "/plugins/base", { route: { id: unknown } }],
  [
    "circular references in a batch",
    "POST",
    "/batch",
    {
      writes: [
        serviceOf("one"),
        { method: "PATCH", path: "/services/one", body: { client_certificate: { id: deriveId("services", "two") } } },
        serviceOf("two"),
        { method: "PATCH", path: "/services/two", body: { client_certificate: { id: deriveId("services", "one") } } },
      ],
    },
  ],
  [
    "a route before its service in a batch",
    "POST",
    "/batch",
    { writes: [routeOf({ paths: ["/"], service: { name: "late" } }), serviceOf("late")] },
  ],
  [
    "a reference to an entity that the batch removes",
    "POST",
    "/batch",
    {
      writes: [
        serviceOf("gone"),
        { method: "DELETE", path: "/services/gone" },
        routeOf({ paths: ["/"], service: { id: deriveId("services", "gone") } }),
      ],
    },
  ],
];

/** A route with the maximum number of paths, headers and values per header: 240 kB of JSON. */
const largestRoute = (index: number) => ({
  name: `large-${index}`,
  paths: Array.from({ length: 64 }, (_, at) => `/${index}/${at}/${"p".repeat(1000)}`),
  headers: Object.fromEntries(
    Array.from({ length: 16 }, (_, at) => [
      `x-${at}`,
      Array.from({ length: 16 }, (_, value) => `${value}`.repeat(500)),
    ]),
  ),
});

const offsetOf = (members: object): string => Buffer.from(JSON.stringify(members)).toString("base64");

for (const store of writableStores) {
  describe(`bad input to a ${store.name} store`, () => {
    let running: RunningStore;
    let ask: AskAdmin;
    let node: unknown;
    let held: Awaited<ReturnType<typeof listAllEntities>>;

    before(async () => {
      running = await store.start();
      ask = connectAdmin(running.admin);
      ok(await ask("POST", "/batch", batch(standingWrites)));
      node = await nodeId();
      held = await listAllEntities(ask);
    });
    after(() => running?.stop());

    const nodeId = async () => Object(ok(await ask("GET", "/"))).node_id;
    /** Asserts that the started process still runs and has the same entities. */
    const isAsBefore = async () => {
      assert.equal(await nodeId(), node);
      assert.deepEqual(await listAllEntities(ask), held);
    };
    const isRefused = (reply: Reply, what: string) => {
      assert.ok(reply.status >= 400 && reply.status < 500, `${what}: ${reply.status} ${JSON.stringify(reply.body)}`);
      const { message } = Object(reply.body);
      assert.ok(typeof message === "string" && message.length > 0, `${what}: ${JSON.stringify(reply.body)}`);
      assert.doesNotMatch(message, / at .*\.ts|node_modules|syntax error|unexpected error/, what);
    };

    test("with circular references or references to missing entities is refused", async () => {
      for (const [what, method, path, json] of faultyReferences) isRefused(await ask(method, path, { json }), what);
      await isAsBefore();
    });

    test("with SQL in any text is stored literally (a password as a hash), or refused", async () => {
      for (const [name, [path, body]] of Object.entries(creationRequests)) {
        const collection = name as Collection;
        // The URL sets the parent within which a name is unique, whatever the body contains.
        const places = textPathsOf(collection).filter(([member]) => member !== entities[collection].within);
        for (const place of places) await keepsOrRefuses(ask, { path, body, place });
      }
      for (const name of pluginNames()) {
        const body = { name, config: neededConfigs[name] ?? {} };
        for (const place of placesOfConfig(name)) await keepsOrRefuses(ask, { path: "/plugins", body, place });
      }
      await isAsBefore();
    });

    test("with texts that have a meaning in SQL, YAML, JSON or HTML is stored literally, even in names", async () => {
      const writes = hostileTexts.map((text) => ({
        method: "POST",
        path: "/consumers",
        body: { username: text, custom_id: text },
      }));
      ok(await ask("POST", "/batch", batch(writes)));
      const { data } = ok(await ask("GET", "/consumers?size=1000")) as { data: readonly ShownEntity[] };
      const kept = data.filter(({ username }) => username !== "base");
      assert.deepEqual(new Set(kept.map(({ username }) => username)), new Set(hostileTexts));
      for (const { id, username, custom_id } of kept) {
        assert.deepEqual([custom_id, id], [username, deriveId("consumers", String(username))]);
        const found = ok(await ask("GET", `/consumers/${encodeURIComponent(String(username))}`));
        assert.equal(Object(found).id, id, JSON.stringify(username));
      }
      ok(await ask("POST", "/batch", batch(kept.map(({ id }) => ({ method: "DELETE", path: `/consumers/${id}` })))));
      await isAsBefore();
    });

    test("with names of inherited JavaScript properties is stored, or refused", async () => {
      const headers = '{"__proto__":["a"],"constructor":["b"],"toString":["c"]}';
      const made = await ask("POST", "/routes", { json: `{"paths":["/own"],"headers":${headers}}` });
      if (made.status === 201) {
        const { id } = Object(made.body);
        assert.equal(JSON.stringify(Object(ok(await ask("GET", `/routes/${id}`))).headers), headers);
        ok(await ask("DELETE", `/routes/${id}`));
      } else isRefused(made, headers);
      for (const name of ["__proto__", "constructor", "hasOwnProperty", "toString", "valueOf"]) {
        for (const [path, body] of Object.values(creationRequests)) {
          const json = JSON.stringify(body).replace(/^\{/, `{${JSON.stringify(name)}:{"id":"${unknown}"},`);
          isRefused(await ask("POST", path, { json }), `${path} with ${name}`);
        }
        isRefused(await ask("GET", `/${name}`), name);
        isRefused(await ask("GET", `/services/${name}`), name);
        isRefused(await ask("GET", `/services/base/${name}`), name);
        isRefused(await ask("GET", `/schemas/${name}`), name);
        assert.deepEqual(ok(await ask("GET", `/tags/${name}`)), { data: [], next: null });
      }
      await isAsBefore();
    });

    test("with an offset that is forged or of another list gets a page of entities, or is refused", async () => {
      const { offset } = Object(ok(await ask("GET", "/tags?size=1")));
      const page = Object(ok(await ask("GET", "/snis?size=1")));
      const offsets = [
        offset,
        page.offset,
        "",
        "e",
        "e30",
        "bnVsbA==",
        "W10=",
        offsetOf({ id: sql }),
        offsetOf({ id: null }),
        offsetOf({ id: { id: unknown } }),
        offsetOf({ id: unknown.toUpperCase() }),
        offsetOf({ id: deriveId("services", "base") }),
        offsetOf({ collection: "__proto__", id: unknown, tag: "a" }),
        offsetOf({ collection: "services", id: unknown, tag: sql }),
        offsetOf({ collection: "services; DROP TABLE services", id: unknown, tag: "a" }),
        `${offsetOf({ id: unknown })}${"A".repeat(8000)}`,
      ].filter((text) => text !== undefined);
      const urls = ["/services", "/services?tags=blue", "/upstreams/base.example/targets", "/tags", "/tags/blue"];
      for (const url of urls) {
        for (const text of offsets) {
          const asked = `${url}${url.includes("?") ? "&" : "?"}offset=${encodeURIComponent(text)}`;
          const reply = await ask("GET", asked);
          if (reply.status !== 200) isRefused(reply, asked);
        }
      }
      await isAsBefore();
    });

    test("of more than 5 MB is accepted if it is valid, and refused if one of its writes is invalid", async () => {
      const routes = Array.from({ length: 25 }, (_, index) => largestRoute(index));
      const text = JSON.stringify({ writes: routes.map(routeOf) });
      assert.ok(text.length > 5_000_000, `${text.length}`);
      const faulty = JSON.stringify({ writes: [...routes.map(routeOf), routeOf({ paths: ["none"] })] });
      isRefused(await ask("POST", "/batch", { json: faulty }), "a fault after 5 MB");
      await isAsBefore();

      ok(await ask("POST", "/batch", { json: text }));
      for (const { name, paths, headers } of routes) {
        const { status, body } = await ask("GET", `/routes/${name}`);
        assert.deepEqual({ status, ...pick(body, ["paths", "headers"]) }, { status: 200, paths, headers });
      }
      const removals = routes.map(({ name }) => ({ method: "DELETE", path: `/routes/${name}` }));
      ok(await ask("POST", "/batch", batch(removals)));
      const long = `{"name":"spaced","host":"a"${" ".repeat(5_000_000)}}`;
      ok(await ask("POST", "/services", { json: long }));
      ok(await ask("DELETE", "/services/spaced"));
      await isAsBefore();
    });

    test("of 11 MB is refused", async () => {
      const reply = await ask("POST", "/batch", { json: " ".repeat(11_000_000) });
      assert.deepEqual([reply.status, reply.body], [413, { message: "Payload too large" }]);
      await isAsBefore();
    });

    test("with an error in one write of a batch changes no entity", async () => {
      const good = Array.from({ length: 20 }, (_, index) => serviceOf(`good-${index}`));
      const faults: readonly object[] = [
        { method: "POST", path: "/services", body: { name: "base", host: "a" } },
        { method: "POST", path: "/consumers", body: { username: "else", custom_id: "42" } },
        { method: "POST", path: "/consumers/base/key-auth", body: { key: "base-key" } },
        { method: "DELETE", path: "/services/base" },
        { method: "PATCH", path: "/services/base", body: { host: "b" }, if_match: '"old"' },
        { method: "PATCH", path: "/services/base", body: { name: "Böse Namen" } },
        { method: "POST", path: "/nothing", body: {} },
      ];
      for (const fault of faults) {
        const reply = await ask("POST", "/batch", batch([...good.slice(0, 10), fault, ...good.slice(10)]));
        isRefused(reply, JSON.stringify(fault));
        assert.equal(Object(reply.body).write, 10, JSON.stringify(reply.body));
      }
      await isAsBefore();
    });

    test("of four concurrent clients that claim the same unique value is accepted from exactly one of them", async () => {
      for (const [path, json, fault] of races) {
        const replies = await Promise.all(Array.from({ length: 4 }, () => ask("POST", path, { json })));
        const won = replies.filter(({ status }) => status === 201);
        assert.equal(won.length, 1, `${path}: ${replies.map(({ status }) => status)}`);
        for (const reply of replies.filter((one) => one !== won[0])) {
          assert.equal(reply.status, 409, JSON.stringify(reply.body));
          assert.partialDeepStrictEqual(reply.body, { code: 5, fields: fault });
        }
        ok(await ask("DELETE", `${path}/${Object(won[0]?.body).id}`));
      }
      await isAsBefore();
    });

    test("in two concurrent batches that claim the same name is stored completely from one batch, and not at all from the other", async () => {
      const of = (who: string) => [
        ...Array.from({ length: 5 }, (_, index) => serviceOf(`${who}-${index}`)),
        { method: "POST", path: "/services", body: { name: "wanted", host: who } },
      ];
      const names = ["ann", "bob"];
      const replies = await Promise.all(names.map((name) => ask("POST", "/batch", batch(of(name)))));
      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409]);
      const winner = names[replies.findIndex(({ status }) => status === 200)] ?? "";
      const { data } = ok(await ask("GET", "/services?size=1000")) as { data: readonly ShownEntity[] };
      const made = data.filter(({ name }) => name !== "base");
      const expected = [...Array.from({ length: 5 }, (_, index) => `${winner}-${index}`), "wanted"];
      assert.deepEqual(made.map(({ name }) => name).sort(), expected);
      ok(await ask("POST", "/batch", batch(made.map(({ id }) => ({ method: "DELETE", path: `/services/${id}` })))));
      await isAsBefore();
    });

    test("of a client that disconnects is written completely or not at all", async () => {
      const names = Array.from({ length: 10 }, (_, index) => `left-${index}`);
      const body = JSON.stringify({ writes: names.map(serviceOf) });
      const length = Buffer.byteLength(body);
      for (const part of [0, 1, length / 2, length - 1]) {
        await sendAndDisconnect(running.admin, { method: "POST", path: "/batch", body: body.slice(0, part), length });
      }
      // Writes are serialized: when this write has finished, earlier ones have too.
      ok(await ask("PUT", "/services/after", { json: { host: "a" } }));
      ok(await ask("DELETE", "/services/after"));
      await isAsBefore();

      await sendAndDisconnect(running.admin, { method: "POST", path: "/batch", body, length });
      const made = await waitFor(
        async () => {
          const { data } = ok(await ask("GET", "/services?size=1000")) as { data: readonly ShownEntity[] };
          return data.length > names.length && data;
        },
        { what: "the whole batch to be written" },
      );
      assert.deepEqual(new Set(made.map(({ name }) => name)), new Set(["base", ...names]));
      ok(await ask("POST", "/batch", batch(names.map((name) => ({ method: "DELETE", path: `/services/${name}` })))));
      await isAsBefore();
    });
  });
}

/** Writes that succeed only once when four clients send them concurrently, with the `fields` of the refusals. */
const races: readonly (readonly [path: string, body: object, fault: object])[] = [
  ["/services", { name: "one", host: "a" }, { name: "one" }],
  ["/routes", { name: "one", paths: ["/one"] }, { name: "one" }],
  ["/consumers", { username: "one" }, { username: "one" }],
  ["/consumers", { custom_id: "one" }, { custom_id: "one" }],
  ["/key-auths", { key: "one", consumer: { username: "base" } }, { key: "one" }],
  ["/upstreams", { name: "one.example" }, { name: "one.example" }],
  ["/snis", { name: "one.example", certificate: { id: standingCertificate } }, { name: "one.example" }],
  ["/plugins", { name: "prometheus", instance_name: "one" }, {}],
  ["/upstreams/base.example/targets", { target: "10.0.0.9:80" }, {}],
];

/** The body of a response, which must be successful. */
function ok({ status, body }: Reply): unknown {
  assert.ok(status >= 200 && status < 300, `${status} ${JSON.stringify(body)?.slice(0, 2000)}`);
  return body;
}

const pick = (value: unknown, members: readonly string[]) =>
  Object.fromEntries(members.map((member) => [member, Object(value)[member]]));

interface Making {
  readonly path: string;
  readonly body: object;
  readonly place: TextPath;
}

/**
 * Creates an entity with SQL in a member, checks that the member is stored unchanged or, if it is a password of
 * basic-auth, as a hash, and removes the entity. A refusal must be a schema violation.
 */
async function keepsOrRefuses(ask: AskAdmin, { path, body, place }: Making): Promise<void> {
  const what = `${path} ${place.join(".")}`;
  const made = await ask("POST", path, { json: merged(body, bodyWith(place, sql)) });
  if (made.status !== 201) {
    assert.equal(made.status, 400, `${what}: ${JSON.stringify(made.body)}`);
    assert.partialDeepStrictEqual(made.body, { code: 2, name: "schema violation" }, what);
    return;
  }
  const { id } = Object(made.body);
  const shown = ok(await ask("GET", `${path}/${id}`));
  if (what === "/basic-auths password") assert.match(String(valueAtPath(shown, place)), /^\$scrypt\$/);
  else assert.equal(valueAtPath(Object(shown).consumer_group ?? shown, place), sql, what);
  ok(await ask("DELETE", `${path}/${id}`));
}

/** Merges two bodies and their `config`, the only member that is a record in both. */
function merged(body: object, added: unknown): object {
  const both = { ...body, ...Object(added) };
  if ("config" in body && "config" in Object(added)) both.config = { ...Object(body.config), ...Object(added).config };
  return both;
}
