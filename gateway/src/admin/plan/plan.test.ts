import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Collection, checkEntity, type Entities, type Entity } from "@sluice/model";
import { Router } from "../../compile/router/router.ts";
import { createTestingStore } from "../testing-store.ts";
import { createPlanner } from "./plan.ts";
import { planBetween } from "./testing-plans.ts";

function made<Name extends Collection>(collection: Name, raw: object): Entities[Name] {
  const { value, violations } = checkEntity(collection, raw, { now: 1 });
  if (!value) throw new Error(JSON.stringify(violations));
  return value;
}

const shop = made("services", { name: "shop", host: "shop" });
const route = (name: string, raw: object, service: Entity = shop) =>
  made("routes", { name, service: { id: service.id }, ...raw });
const rerouted = async (before: readonly Entities["routes"][], after: readonly Entities["routes"][]) => {
  const { requests } = await planBetween({ services: [shop], routes: before }, { services: [shop], routes: after });
  return requests?.changed.map(({ request, before: was, after: will }) => [
    `${request.method} ${request.host}${request.path}`,
    was?.name ?? null,
    will?.name ?? null,
  ]);
};

describe("a plan", () => {
  test("between equal configurations is empty, whatever their timestamps are", async () => {
    const later = { ...shop, updated_at: 99 };
    assert.deepEqual(await planBetween({ services: [shop] }, { services: [later] }), {
      created: [],
      changed: [],
      deleted: [],
      requests: null,
    });
  });

  test("shows each member that differs, and a changed list as a whole", async () => {
    const next = made("services", { name: "shop", host: "shop", port: 81, tags: ["a"] });
    assert.deepEqual((await planBetween({ services: [shop] }, { services: [next] })).changed, [
      {
        collection: "services",
        id: shop.id,
        name: "shop",
        members: [
          { member: "port", before: 80, after: 81 },
          { member: "tags", before: null, after: ["a"] },
        ],
      },
    ]);
  });

  test("shows the members of a new entity that differ from the defaults, in nested records too", async () => {
    const upstream = made("upstreams", { name: "u", healthchecks: { active: { healthy: { interval: 5 } } } });
    assert.deepEqual((await planBetween({}, { upstreams: [upstream] })).created, [
      { collection: "upstreams", id: upstream.id, name: "u", members: { "healthchecks.active.healthy.interval": 5 } },
    ]);
    const plugin = made("plugins", { name: "rate-limiting", config: { minute: 5, policy: "local" } });
    const [created] = (await planBetween({}, { plugins: [plugin] })).created;
    assert.deepEqual(created?.members, { name: "rate-limiting", "config.minute": 5 });
  });

  test("never shows a secret", async () => {
    const bob = made("consumers", { username: "bob" });
    const key = (value: string) => made("keyauth_credentials", { id: shop.id, key: value, consumer: { id: bob.id } });
    const limit = (password: string) =>
      made("plugins", {
        name: "rate-limiting",
        instance_name: "limit",
        config: { minute: 1, policy: "redis", redis: { host: "r", password } },
      });
    const named = { username: "bob", consumer: { id: bob.id } };
    const secretsOf = (word: string) => ({
      keyauth_credentials: [key(`secret-${word}-1`)],
      jwt_secrets: [made("jwt_secrets", { key: "bob", secret: `secret-${word}-2`, consumer: { id: bob.id } })],
      basicauth_credentials: [made("basicauth_credentials", { ...named, password: `secret-${word}-3` })],
      hmacauth_credentials: [made("hmacauth_credentials", { ...named, secret: `secret-${word}-4` })],
      plugins: [limit(`secret-${word}-5`)],
    });
    const [before, after] = [secretsOf("one"), secretsOf("two")];
    for await (const plan of [planBetween(before, after), planBetween({}, after), planBetween(before, {})]) {
      assert.doesNotMatch(JSON.stringify(plan), /secret-/);
    }
    assert.equal((await planBetween(before, after)).changed.length, 5);
  });
});

describe("a plan of routes", () => {
  const wide = route("wide", { paths: ["/"] });
  const narrow = route("narrow", { paths: ["/api"], methods: ["GET", "POST"] });

  test("shows which requests a new route receives instead of another route", async () => {
    assert.deepEqual(await rerouted([wide], [wide, narrow]), [["GET sample.invalid/api", "wide", "narrow"]]);
  });

  test("lists requests with equal differences once, with their number", async () => {
    const { requests } = await planBetween(
      { services: [shop], routes: [wide] },
      { services: [shop], routes: [wide, narrow] },
    );
    assert.deepEqual(
      requests?.changed.map(({ similar }) => similar),
      [2],
    );
  });

  test("shows which route receives the requests of a removed route", async () => {
    assert.deepEqual((await rerouted([wide, narrow], [wide]))?.[0], ["GET sample.invalid/api", "narrow", "wide"]);
  });

  test("uses samples with a matching host, method and headers", async () => {
    const special = route("special", { hosts: ["*.example.com"], headers: { "X-A": ["1"] }, methods: ["PUT"] });
    assert.deepEqual(await rerouted([], [special]), [["PUT sample.example.com/", null, "special"]]);
  });

  test("shows that a route's requests are sent to a different service", async () => {
    const other = made("services", { name: "other", host: "other" });
    const moved = { ...wide, service: { id: other.id } };
    const services = [shop, other];
    const { requests } = await planBetween({ services, routes: [wide] }, { services, routes: [moved] });
    assert.partialDeepStrictEqual(requests?.changed[0], {
      before: { name: "wide", service: "shop" },
      after: { name: "wide", service: "other" },
    });
  });

  test("uses samples that match regular expressions of paths and headers, and returns their number", async () => {
    const paths = ["~/a/(?<id>\\d+)", "~/b/[a-z]+\\.json$"];
    const special = route("special", { paths, headers: { "X-A": ["~*^v[12]$"] } });
    const { requests } = await planBetween({ services: [shop] }, { services: [shop], routes: [special, wide] });
    const matched = requests?.changed.find(({ after }) => after?.name === "special");
    assert.partialDeepStrictEqual(matched, { request: { path: "/a/1", headers: { "x-a": "v1" } }, similar: 2 });
    assert.deepEqual([requests?.sampled, requests?.left_out], [5, []]);
  });

  test("names routes whose regular expressions yield no sample", async () => {
    const regex = route("regex", { paths: ["~/[à-é]"] });
    const { requests } = await planBetween({ services: [shop] }, { services: [shop], routes: [regex] });
    const sentence = "route regex: no request was found that its regular expressions match";
    assert.deepEqual(requests, { sampled: 0, changed: [], incomplete: false, left_out: [sentence] });
  });

  test("is refused with 429 while four others are being made", async () => {
    const until = Promise.withResolvers<void>();
    const { store } = createTestingStore([{ collection: "services", entity: shop }]);
    const leftOut = () => until.promise.then(() => []);
    const planOf = createPlanner({ store, reasonToRefuse: () => null, leftOut });
    const effects = [{ collection: "services", before: null, after: shop, along: [] }] as const;
    const first = Array.from({ length: 4 }, () => planOf(effects));
    await assert.rejects(planOf(effects), {
      status: 429,
      headers: { "Retry-After": "5" },
      message: "4 plans are being made, which is the limit: try again in 5 seconds",
    });
    assert.deepEqual((await planOf([])).requests, null, "an empty plan is not counted");
    until.resolve();
    await Promise.all(first);
    assert.equal((await planOf(effects)).created.length, 1);
  });

  test("lists at most 100 requests of at most 5000 samples, and reports that there may be more", async () => {
    const many = Array.from({ length: 4000 }, (_, index) => route(`r${index}`, { paths: [`/r${index}`] }));
    const { requests } = await planBetween({ services: [shop] }, { services: [shop], routes: many });
    assert.equal(requests?.changed.length, 100);
    assert.equal(requests?.incomplete, true);
    assert.ok((requests?.sampled ?? 0) <= 5000);
  });

  test("lets the process serve other requests between samples, and ends after six seconds", async (context) => {
    const before = Array.from({ length: 1000 }, (_, index) => route(`r${index}`, { paths: [`/r${index}`] }));
    let [now, matches, matchesOfSlice, longest] = [0, 0, 0, 0];
    context.mock.method(performance, "now", () => now);
    const { match } = Router.prototype;
    context.mock.method(Router.prototype, "match", function (this: Router, ...args: Parameters<Router["match"]>) {
      now += 10;
      matches++;
      longest = Math.max(longest, ++matchesOfSlice);
      return match.apply(this, args);
    });
    const turn = () => {
      matchesOfSlice = 0;
      immediate = setImmediate(turn);
    };
    let immediate = setImmediate(turn);
    context.after(() => clearImmediate(immediate));
    const after = [...before, route("new", { paths: ["/new"] })];
    const { requests } = await planBetween({ services: [shop], routes: before }, { services: [shop], routes: after });
    assert.equal(requests?.incomplete, true);
    assert.ok(matches > 500 && matches < 700, `${matches} matches of 10 ms`);
    assert.ok(longest <= 4, `${longest} matches of 10 ms in one turn of the event loop`);
  });
});
