import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  bucketDifferences,
  emptySnapshot,
  type Snapshot,
  type SnapshotPlugin,
  type SnapshotRoute,
} from "@sluice/model";
import { pluginsByName } from "../../../test/plugins/fake-exchange.ts";
import { CertificateRequests } from "./certificate-requests.ts";
import {
  caCertificateOf,
  pluginEntityNamed,
  routeNamed,
  serviceNamed,
  snapshotOfEntities,
} from "./testing-entities.ts";

const [one, other] = [caCertificateOf("one"), caCertificateOf("other")];
const [first, second] = [serviceNamed("first"), serviceNamed("second")];
const route = (name: string, service: { id: string }, snis: readonly string[] | null) =>
  routeNamed(name, { service: { id: service.id }, snis: snis === null ? null : [...snis] });
const routes = [route("a", first, ["a.example", "B.example"]), route("b", second, ["c.example"])];
const open = route("open", first, null);

const mtls = (members: Partial<SnapshotPlugin>, ...authorities: readonly { readonly id: string }[]) =>
  pluginEntityNamed("mtls-auth", {
    ...members,
    config: { ca_certificates: authorities.map(({ id }) => id), send_ca_dn: authorities.length > 0 },
  });

const snapshotWith = (plugins: readonly SnapshotPlugin[], all: readonly SnapshotRoute[] = routes) =>
  snapshotOfEntities({
    services: [first, second],
    routes: [...all],
    plugins: [...plugins],
    caCertificates: [one, other],
  });

const requestsOf = (snapshot: Snapshot, previous: readonly [Snapshot, CertificateRequests] | null = null) =>
  CertificateRequests.of(snapshot, {
    previous: previous?.[1] ?? null,
    plugins: bucketDifferences(previous?.[0].plugins ?? emptySnapshot.plugins, snapshot.plugins),
    definitions: pluginsByName,
  });

const names = ["a.example", "b.example", "c.example", "other.example", null] as const;
const byName = (requests: CertificateRequests) => names.map((name) => requests.find(name)?.authorities ?? null);
const firstService = { service: { id: first.id } };

describe("requests for certificates of clients", () => {
  const table: readonly (readonly [
    what: string,
    plugins: readonly SnapshotPlugin[],
    all: readonly SnapshotRoute[],
    expected: readonly (readonly string[] | null)[],
  ])[] = [
    ["for no server name if there is no plugin", [], routes, [null, null, null, null, null]],
    [
      "for no server name if key-auth is the only plugin",
      [pluginEntityNamed("key-auth")],
      routes,
      [null, null, null, null, null],
    ],
    ["for the server names of a service's routes", [mtls(firstService)], routes, [[], [], null, null, null]],
    [
      "for all server names if a service has a route without snis",
      [mtls(firstService)],
      [...routes, open],
      [[], [], [], [], []],
    ],
    ["for all server names for a global plugin", [mtls({})], [], [[], [], [], [], []]],
    [
      "with the authorities of all plugins that apply to the server name",
      [
        mtls(firstService, one),
        mtls({ route: { id: routes[0]?.id ?? "" } }, other),
        mtls({ route: { id: routes[1]?.id ?? "" } }, other),
      ],
      routes,
      [[one.cert, other.cert].sort(), [one.cert, other.cert].sort(), [other.cert], null, null],
    ],
    [
      "with no authorities if one plugin that applies to the server name has none",
      [mtls(firstService, one), mtls({})],
      routes,
      [[], [], [], [], []],
    ],
    [
      "for no server name if the only plugin is attached to a route that was removed",
      [mtls({ route: { id: open.id } })],
      routes,
      [null, null, null, null, null],
    ],
  ];
  for (const [what, plugins, all, expected] of table) {
    it(`are sent ${what}`, () => {
      const sorted = byName(requestsOf(snapshotWith(plugins, all))).map((list) => list && [...list].sort());
      assert.deepEqual(sorted, expected);
    });
  }

  it("stay the same objects while their content is unchanged, so that TLS contexts stay cached", () => {
    const before = snapshotWith([mtls(firstService, one)]);
    const requests = requestsOf(before);
    const known = requests.find("a.example");
    const after = snapshotWith(
      [mtls(firstService, one), pluginEntityNamed("key-auth")],
      [...routes, route("d", second, ["d.example"])],
    );
    const next = requestsOf(after, [before, requests]);
    assert.equal(next.find("a.example"), known);
    assert.notEqual(requestsOf(snapshotWith([mtls(firstService, other)]), [after, next]).find("a.example"), known);
  });
});
