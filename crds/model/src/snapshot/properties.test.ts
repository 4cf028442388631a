import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checked } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import type { Change, Document, ServiceEndpoint, UpstreamEndpoint } from "../document.ts";
import { collections } from "../entities/index.ts";
import { deriveId } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import { adoptChange } from "./adopt.ts";
import { applyChange, applyDocument } from "./apply.ts";
import { changeBetween, snapshotToDocument } from "./change.ts";
import { emptySnapshot } from "./make-snapshot.ts";

/** The document as a change from the empty snapshot. */
const changeOf = ({
  _format_version,
  _transform,
  _sluice: { listeners, ...addresses } = {},
  ...put
}: Document): Change => ({
  put,
  remove: {},
  ...addresses,
  listeners: Object.fromEntries((listeners ?? []).map((listener) => [listener.name, listener])),
});

const index = fc.nat({ max: 5 });
const word = fc.constantFrom("a", "b", "c");
const byKey = <Item>(items: fc.Arbitrary<Item>, key: (item: Item) => unknown) =>
  fc.uniqueArray(items, { selector: key, maxLength: 6 });

/** Valid documents: a child is left out, or refers to no parent, if its parent is missing. */
const documents: fc.Arbitrary<Document> = fc
  .record({
    services: byKey(fc.record({ name: index.map((i) => `s${i}`), host: word }), ({ name }) => name),
    routes: byKey(
      fc.record({
        name: index.map((i) => `r${i}`),
        paths: word.map((path) => [`/${path}`]),
        service: fc.option(index),
      }),
      ({ name }) => name,
    ),
    consumers: byKey(
      fc.record({ username: index.map((i) => `c${i}`), tags: fc.option(word.map((tag) => [tag])) }),
      ({ username }) => username,
    ),
    credentials: byKey(fc.record({ key: index.map((i) => `k${i}`), consumer: index }), ({ key }) => key),
    plugins: byKey(
      fc.record({ name: fc.constantFrom("prometheus", "rate-limiting"), minute: fc.nat({ max: 3 }), route: index }),
      ({ name, route }) => `${name}/${route}`,
    ),
    endpoints: byKey(
      fc.record({ service: index, addresses: fc.uniqueArray(index, { maxLength: 3 }) }),
      ({ service }) => service,
    ),
    upstreams: byKey(fc.record({ name: index.map((i) => `u${i}`) }), ({ name }) => name),
    weighted: byKey(
      fc.record({ upstream: index, addresses: fc.uniqueArray(index, { maxLength: 3 }), weight: fc.nat({ max: 2 }) }),
      ({ upstream }) => upstream,
    ),
    listeners: byKey(
      fc.record({ name: index.map((i) => `a/b-${i}`), port: index, protocol: fc.constantFrom("http", "https") }),
      ({ name }) => name,
    ),
  })
  .map((world) => {
    const services = new Set(world.services.map(({ name }) => name));
    const routes = new Set(world.routes.map(({ name }) => name));
    const upstreams = new Set(world.upstreams.map(({ name }) => name));
    const consumers = new Set(world.consumers.map(({ username }) => username));
    const addresses = (numbers: readonly number[]): ServiceEndpoint[] =>
      numbers.map((number) => ({ address: `10.0.0.${number}`, port: 80 }));
    return {
      _format_version: "3.0",
      services: world.services,
      upstreams: world.upstreams,
      routes: world.routes.map((route) => ({
        ...route,
        service: services.has(`s${route.service}`) ? { id: deriveId("services", `s${route.service}`) } : null,
      })),
      consumers: world.consumers,
      keyauth_credentials: world.credentials
        .filter(({ consumer }) => consumers.has(`c${consumer}`))
        .map(({ key, consumer }) => ({ key, consumer: { id: deriveId("consumers", `c${consumer}`) } })),
      plugins: world.plugins
        .filter(({ route }) => routes.has(`r${route}`))
        .map(({ name, minute, route }) => ({
          name,
          instance_name: `${name}-${route}`,
          route: { id: deriveId("routes", `r${route}`) },
          config: name === "rate-limiting" ? { minute: minute + 1 } : {},
        })),
      _sluice: {
        endpoints: Object.fromEntries(
          world.endpoints
            .filter(({ service }) => services.has(`s${service}`))
            .map((each) => [deriveId("services", `s${each.service}`), addresses(each.addresses)]),
        ),
        upstream_endpoints: Object.fromEntries(
          world.weighted
            .filter(({ upstream }) => upstreams.has(`u${upstream}`))
            .map(({ upstream, weight, ...each }): readonly [string, UpstreamEndpoint[]] => [
              deriveId("upstreams", `u${upstream}`),
              addresses(each.addresses).map(({ address, port }) => ({ address, port, weight })),
            ]),
        ),
        listeners: world.listeners.map(({ port, ...each }) => ({ ...each, port: 9000 + port, public_port: 80 })),
      },
    };
  });

const good = ({ value, violations }: Checked<Snapshot>): Snapshot => value ?? assert.fail(JSON.stringify(violations));
const whole = (document: Document) => good(applyDocument(emptySnapshot, document));

/**
 * Splits a change into changes of one entity, of the addresses of one service or upstream, or of one listener. Parents are added before
 * children and removed after them.
 */
function singly(change: Change): readonly Change[] {
  const puts = collections.flatMap((name) =>
    (change.put[name] ?? []).map((item) => ({ put: { [name]: [item] }, remove: {} })),
  );
  const removes = collections
    .toReversed()
    .flatMap((name) => (change.remove[name] ?? []).map((id) => ({ put: {}, remove: { [name]: [id] } })));
  const endpoints = (["endpoints", "upstream_endpoints"] as const).flatMap((section) =>
    Object.entries(change[section] ?? {}).map(
      ([id, list]): Change => ({
        put: {},
        remove: {},
        [section]: { [id]: list },
      }),
    ),
  );
  const listeners = Object.entries(change.listeners ?? {}).map(
    ([name, listener]): Change => ({ put: {}, remove: {}, listeners: { [name]: listener } }),
  );
  return [...puts, ...removes, ...endpoints, ...listeners];
}

/** The change after a round trip through JSON. */
const sent = (change: Change): Change => JSON.parse(JSON.stringify(change));

test("adding entities one by one gives the same snapshot as applying the whole document", () => {
  fc.assert(
    fc.property(documents, (document) => {
      const stepwise = singly(changeOf(document)).reduce((at, change) => good(applyChange(at, change)), emptySnapshot);
      assert.deepEqual(stepwise, whole(document));
      assert.equal(stepwise.hash, whole(document).hash);
    }),
    { numRuns: randomCases(25) },
  );
});

test("the change between two snapshots turns the first into the second, as a whole or step by step", () => {
  fc.assert(
    fc.property(documents, documents, (one, two) => {
      const [from, to] = [whole(one), whole(two)];
      const change = sent(changeBetween(from, to));
      assert.deepEqual(good(applyChange(from, change)), to);
      assert.equal(good(applyDocument(from, two)).hash, to.hash);
      assert.equal(singly(change).reduce((at, step) => good(applyChange(at, step)), from).hash, to.hash);
      assert.equal(
        from.hash === to.hash,
        Object.keys({
          ...change.put,
          ...change.remove,
          ...change.endpoints,
          ...change.upstream_endpoints,
          ...change.listeners,
        }).length === 0,
      );
    }),
    { numRuns: randomCases(40) },
  );
});

test("a change that another thread has checked is applied unchanged, and unchanged sections are shared with the previous snapshot", () => {
  fc.assert(
    fc.property(documents, documents, (one, two) => {
      const [from, to] = [whole(one), whole(two)];
      const adopted = adoptChange(emptySnapshot, structuredClone(changeBetween(emptySnapshot, from)), from.hash);
      assert.deepEqual(adopted, from);
      const next = adoptChange(adopted, structuredClone(changeBetween(from, to)), to.hash);
      assert.deepEqual(next, to);
      for (const section of [...collections, "endpoints", "upstream_endpoints", "listeners"] as const)
        if (to[section] === from[section]) assert.equal(next[section], adopted[section], section);
      for (const service of next.services.values()) assert.ok(Object.isFrozen(service.tags ?? service));
    }),
    { numRuns: randomCases(40) },
  );
});

test("the order of entities in a document does not matter", () => {
  const shuffled = documents.chain((document) =>
    fc
      .tuple(
        ...collections.map((name) =>
          fc.shuffledSubarray([...(document[name] ?? [])], { minLength: document[name]?.length ?? 0 }),
        ),
      )
      .map(
        (lists) =>
          [
            document,
            {
              ...document,
              ...Object.fromEntries(collections.map((name, i) => [name, lists[i]])),
              _sluice: { ...document._sluice, listeners: document._sluice?.listeners?.toReversed() },
            },
          ] as const,
      ),
  );
  fc.assert(
    fc.property(shuffled, ([document, other]) => {
      assert.equal(whole(document).hash, whole(other).hash);
      assert.deepEqual([...whole(document).plugins], [...whole(other).plugins]);
    }),
    { numRuns: randomCases(25) },
  );
});

test("applying the document of a snapshot gives the same snapshot", () => {
  fc.assert(
    fc.property(documents, (document) => {
      const snapshot = whole(document);
      const again = JSON.parse(JSON.stringify(snapshotToDocument(snapshot)));
      assert.deepEqual(whole(again), snapshot);
      assert.equal(good(applyDocument(snapshot, again)), snapshot);
    }),
    { numRuns: randomCases(25) },
  );
});
