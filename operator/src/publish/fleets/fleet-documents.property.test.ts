import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyDocument,
  type Collection,
  collections,
  type Document,
  deriveId,
  emptySnapshot,
  SHARED_FLEET,
  type Snapshot,
  snapshotToDocument,
} from "@sluice/model";
import fc from "fast-check";
import { ellipticPair, firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import { createFleetDocuments } from "./fleet-documents.ts";

const pairs = [firstKeyPair, secondKeyPair, ellipticPair];

const number = fc.nat({ max: 4 });
const few = (item: fc.Arbitrary<number>) => fc.uniqueArray(item, { maxLength: 3 });
const optional = <Item>(item: fc.Arbitrary<Item>) => fc.option(item, { nil: undefined });
const listOf = <Item>(item: fc.Arbitrary<Item>) => fc.array(item, { maxLength: 5 });
const fleetNames = fc.uniqueArray(fc.constantFrom(SHARED_FLEET, "gateway-a", "gateway-b"), {
  minLength: 1,
  maxLength: 2,
});

const id = (collection: Collection, at: number) => deriveId(collection, `${collection}-${at}`);
const reference = (collection: Collection, at: number | undefined, among: readonly unknown[]) =>
  at === undefined || at >= among.length ? null : { id: id(collection, at) };

/** Valid documents whose entities are named by their position; a reference to a position without an entity is null. */
const documents: fc.Arbitrary<Document> = fc
  .record({
    listeners: listOf(optional(fleetNames)),
    certificates: fc.array(optional(few(number)), { maxLength: 3 }),
    snis: listOf(number),
    upstreams: listOf(optional(number)),
    targets: listOf(number),
    services: listOf(fc.record({ host: number, certificate: optional(number) })),
    routes: listOf(fc.record({ listeners: optional(few(number)), service: optional(number) })),
    plugins: listOf(fc.record({ route: optional(number), service: optional(number), mirrors: optional(number) })),
    consumers: listOf(fc.constant(0)),
    addresses: listOf(fc.nat({ max: 2 })),
  })
  .map(({ listeners, certificates, snis, upstreams, targets, services, routes, plugins, consumers, addresses }) => {
    const listenerNames = (numbers: readonly number[]) => ({ listeners: numbers.map((at) => `team/web/${at}`) });
    return {
      _format_version: "3.0",
      certificates: certificates.map((numbers, at) => ({
        id: id("certificates", at),
        ...pairs[at],
        ...(numbers && { _sluice: listenerNames(numbers) }),
      })),
      snis: snis.flatMap((certificate, at) =>
        certificate < certificates.length
          ? { id: id("snis", at), name: `host-${at}.test`, certificate: { id: id("certificates", certificate) } }
          : [],
      ),
      upstreams: upstreams.map((certificate, at) => ({
        id: id("upstreams", at),
        name: `upstream-${at}`,
        client_certificate: reference("certificates", certificate, certificates),
      })),
      targets: targets.flatMap((upstream, at) =>
        upstream < upstreams.length
          ? { id: id("targets", at), target: `10.0.0.${at}:80`, upstream: { id: id("upstreams", upstream) } }
          : [],
      ),
      services: services.map(({ host, certificate }, at) => ({
        id: id("services", at),
        name: `service-${at}`,
        protocol: "https",
        host: `upstream-${host}`,
        client_certificate: reference("certificates", certificate, certificates),
      })),
      routes: routes.map(({ listeners: numbers, service }, at) => ({
        id: id("routes", at),
        paths: [`/${at}`],
        service: reference("services", service, services),
        ...(numbers && { _sluice: listenerNames(numbers) }),
      })),
      plugins: plugins.map(({ route, service, mirrors }, at) => ({
        id: id("plugins", at),
        instance_name: `plugin-${at}`,
        name: mirrors === undefined ? "cors" : "request-mirror",
        // Two plugins of one name and scope are refused.
        tags: [`${at}`],
        route: reference("routes", route, routes),
        service: reference("services", service, services),
        config: mirrors === undefined ? {} : { mirrors: [{ service: `service-${mirrors}`, percentage: 100 }] },
      })),
      consumers: consumers.map((_, at) => ({ id: id("consumers", at), username: `consumer-${at}` })),
      _sluice: {
        endpoints: Object.fromEntries(
          addresses
            .slice(0, services.length)
            .map((count, at) => [
              id("services", at),
              Array.from({ length: count }, (_, last) => ({ address: `10.0.1.${last}`, port: 80 })),
            ]),
        ),
        listeners: listeners.map((fleets, at) => ({
          name: `team/web/${at}`,
          port: 9000 + at,
          public_port: 80,
          protocol: "http",
          ...(fleets && { fleets }),
        })),
      },
    } as Document;
  });

/** Keeps one plugin of each name and scope. */
function withoutTwins(document: Document): Document {
  const plugins = (document.plugins ?? []) as readonly Readonly<Record<string, unknown>>[];
  const byScope = new Map(
    plugins.map((plugin) => [JSON.stringify([plugin.name, plugin.route, plugin.service]), plugin]),
  );
  return { ...document, plugins: [...byScope.values()] };
}

function snapshotOf(document: Document): Snapshot {
  const { value, violations } = applyDocument(emptySnapshot, document);
  return value ?? assert.fail(JSON.stringify(violations));
}

type ValueOf<Entries> = Entries extends ReadonlyMap<string, infer Value> ? Value : never;

/** The definition of the split: for each fleet, the whole snapshot is filtered. */
function expectedParts(snapshot: Snapshot): ReadonlyMap<string, Snapshot> {
  const all = [SHARED_FLEET, ...[...snapshot.listeners.values()].flatMap(({ fleets = [] }) => fleets)];
  const list = <Name extends Collection>(collection: Name): readonly ValueOf<Snapshot[Name]>[] => [
    ...(snapshot[collection] as ReadonlyMap<string, ValueOf<Snapshot[Name]>>).values(),
  ];
  const isAtListener = (names: readonly string[], fleet: string) =>
    names.some((name) => {
      const listener = snapshot.listeners.get(name);
      return listener && (listener.fleets ?? [SHARED_FLEET]).includes(fleet);
    });
  const isNeeded = (isUsedIn: (fleet: string) => boolean, fleet: string) =>
    isUsedIn(fleet) || (fleet === SHARED_FLEET && !all.some(isUsedIn));
  const has: { readonly [Name in Collection]?: (key: string, fleet: string) => boolean } = {
    routes(key, fleet) {
      const { listeners } = snapshot.routes.get(key)?._sluice ?? {};
      return listeners ? isAtListener(listeners, fleet) : fleet === SHARED_FLEET;
    },
    services: (key, fleet) =>
      isNeeded(
        (one) =>
          list("routes").some(({ id, service }) => service?.id === key && has.routes?.(id, one)) ||
          list("plugins").some(
            ({ name, route, config }) =>
              name === "request-mirror" &&
              (config as { mirrors: { service: string }[] }).mirrors[0]?.service === snapshot.services.get(key)?.name &&
              (!route || has.routes?.(route.id, one)),
          ),
        fleet,
      ),
    upstreams: (key, fleet) =>
      isNeeded(
        (one) =>
          list("services").some(
            ({ id, host }) => host === snapshot.upstreams.get(key)?.name && has.services?.(id, one),
          ),
        fleet,
      ),
    targets: (key, fleet) => has.upstreams?.(snapshot.targets.get(key)?.upstream.id ?? "", fleet) ?? false,
    plugins(key, fleet) {
      const { route, service } = snapshot.plugins.get(key) ?? {};
      const isAt = (collection: "routes" | "services", scope: { readonly id: string } | null | undefined) =>
        !scope || has[collection]?.(scope.id, fleet) === true;
      return isAt("routes", route) && isAt("services", service);
    },
    certificates(key, fleet) {
      const { listeners } = snapshot.certificates.get(key)?._sluice ?? {};
      return (
        (listeners ? isAtListener(listeners, fleet) : fleet === SHARED_FLEET) ||
        (["services", "upstreams"] as const).some((collection) =>
          list(collection).some(
            ({ id, client_certificate }) => client_certificate?.id === key && has[collection]?.(id, fleet),
          ),
        )
      );
    },
    snis: (key, fleet) => has.certificates?.(snapshot.snis.get(key)?.certificate.id ?? "", fleet) ?? false,
  };
  const document = snapshotToDocument(snapshot);
  return new Map(
    [...new Set(all)].map((fleet) => {
      const part = Object.fromEntries(
        collections.map((collection) => [
          collection,
          ((document[collection] ?? []) as readonly { readonly id: string }[]).filter(
            ({ id }) => has[collection]?.(id, fleet) ?? true,
          ),
        ]),
      );
      const { endpoints = {}, listeners = [] } = document._sluice ?? {};
      const _sluice = {
        endpoints: Object.fromEntries(Object.entries(endpoints).filter(([key]) => has.services?.(key, fleet))),
        listeners: listeners.filter(({ fleets = [SHARED_FLEET] }) => fleets.includes(fleet)),
      };
      return [fleet, snapshotOf({ _format_version: "3.0", ...part, _sluice } as Document)];
    }),
  );
}

const hashes = (parts: ReadonlyMap<string, Snapshot>) =>
  Object.fromEntries([...parts].map(([fleet, { hash }]) => [fleet, hash]));

test("after any sequence of documents, each fleet has the valid part of the last document that it needs", () => {
  const sequences = fc.array(documents.map(withoutTwins), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(sequences, (sequence) => {
      const split = createFleetDocuments();
      let snapshot = emptySnapshot;
      for (const document of sequence) {
        const { value, violations } = applyDocument(snapshot, document);
        snapshot = value ?? assert.fail(JSON.stringify(violations));
        const parts = split.update(snapshot);
        const expected = expectedParts(snapshot);
        if (expected.size === 1) assert.deepEqual(hashes(parts), { [SHARED_FLEET]: snapshot.hash });
        else assert.deepEqual(hashes(parts), hashes(expected));
      }
    }),
    { numRuns: randomCases(25) },
  );
});
