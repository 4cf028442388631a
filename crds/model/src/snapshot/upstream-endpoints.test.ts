import assert from "node:assert/strict";
import { test } from "node:test";
import { describeViolation } from "../document/describe.ts";
import type { Change, UpstreamEndpoint } from "../document.ts";
import { deriveId } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import { applyChange } from "./apply.ts";
import { snapshotToDocument } from "./change.ts";
import { emptySnapshot } from "./make-snapshot.ts";

const upstream = deriveId("upstreams", "u");
const service = deriveId("services", "s");
const one = { address: "10.0.0.1", port: 80 };

const changed = (previous: Snapshot, change: Partial<Change>) =>
  applyChange(previous, { put: {}, remove: {}, ...change });

function apply(previous: Snapshot, change: Partial<Change>): Snapshot {
  const { value, violations } = changed(previous, change);
  return value ?? assert.fail(violations.map(describeViolation).join("\n"));
}

const base = apply(emptySnapshot, {
  put: { services: [{ name: "s", host: "h" }], upstreams: [{ name: "u" }] },
  endpoints: { [service]: [one] },
});
const withEndpoints = (list: readonly UpstreamEndpoint[] | null) =>
  apply(base, { upstream_endpoints: { [upstream]: list } });

test("a service and an upstream with the same id have separate endpoints", () => {
  const next = apply(base, {
    put: { upstreams: [{ id: service, name: "same" }] },
    upstream_endpoints: { [service]: [{ ...one, weight: 1 }] },
  });
  assert.equal(next.endpoints, base.endpoints);
  assert.equal(next.upstream_endpoints.get(service)?.length, 1);
  assert.equal(apply(next, { remove: { upstreams: [service] } }).hash, base.hash);
});

test("a document without endpoints of upstreams has no section for them, so that older nodes accept it", () => {
  const { _sluice } = snapshotToDocument(withEndpoints(null));
  assert.deepEqual(Object.keys(_sluice ?? {}), ["endpoints"]);
});

test("the hash includes the zones, whatever their order", () => {
  const [none, a, both, reversed] = [undefined, ["a"], ["a", "b"], ["b", "a"]].map(
    (zones) => withEndpoints([{ ...one, weight: 1, ...(zones && { zones }) }]).hash,
  );
  assert.equal(new Set([none, a, both]).size, 3);
  assert.equal(both, reversed);
});

test("invalid zones of endpoints are refused", () => {
  for (const zones of ["a", [""], [7], Array.from({ length: 9 }, (_, index) => `z${index}`)])
    for (const [section, id] of [
      ["endpoints", service],
      ["upstream_endpoints", upstream],
    ] as const) {
      const list = [{ ...one, ...(section === "endpoints" ? {} : { weight: 1 }), zones }];
      const { violations = [] } = changed(base, { [section]: { [id]: list } });
      assert.deepEqual(violations.map(describeViolation), [
        `_sluice.${section}.${id}[0].zones: expected a list of at most 8 names of zones`,
      ]);
    }
});

test("the hash includes the weights", () => {
  const [lighter, heavier] = [1, 2].map((weight) => withEndpoints([{ ...one, weight }]).hash);
  assert.notEqual(lighter, heavier);
});

test("invalid addresses and weights of an upstream are refused", () => {
  const list = [
    { address: "name.example", port: 80, weight: 0.5 },
    { address: "::1", port: 80, weight: -1, ...{ terminating: true } },
    { address: "::1", port: 80, weight: 2 ** 40 + 1 },
  ];
  const { violations = [] } = changed(base, { upstream_endpoints: { [upstream]: list } });
  const place = `_sluice.upstream_endpoints.${upstream}`;
  const range = "expected an integer between 0 and 1099511627776";
  assert.deepEqual(violations.map(describeViolation), [
    `${place}[0].address: not an IP address: name.example`,
    `${place}[0].weight: ${range}`,
    `${place}[1].weight: ${range}`,
    `${place}[1].terminating: unknown field`,
    `${place}[2].weight: ${range}`,
  ]);
});
