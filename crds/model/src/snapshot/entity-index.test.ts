import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { describeViolation } from "../document/describe.ts";
import { collections, perCollection } from "../entities/index.ts";
import { deriveId } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import { applyChange } from "./apply.ts";
import { entityIndexOf } from "./entity-index.ts";
import { emptySnapshot } from "./make-snapshot.ts";

const index = fc.nat({ max: 3 });
const idOf = (collection: (typeof collections)[number]) => index.map((i) => deriveId(collection, `${i}`));
const put = fc.record({
  services: fc.array(fc.record({ id: idOf("services"), name: index.map((i) => `s${i}`), host: fc.constant("h") }), {
    maxLength: 2,
  }),
  routes: fc.array(
    fc.record({
      id: idOf("routes"),
      name: index.map((i) => `r${i}`),
      paths: fc.constant(["/"]),
      service: idOf("services").map((id) => ({ id })),
    }),
    { maxLength: 2 },
  ),
  consumers: fc.array(fc.record({ id: idOf("consumers"), username: index.map((i) => `c${i}`) }), { maxLength: 2 }),
  keyauth_credentials: fc.array(
    fc.record({
      id: idOf("keyauth_credentials"),
      consumer: idOf("consumers").map((id) => ({ id })),
      _sluice: fc.record({
        key_hash: index.map((i) => `${i}`.repeat(64)),
        namespaces: fc.constantFrom(["a"], ["b"], ["a", "b"]),
      }),
    }),
    { maxLength: 2 },
  ),
});
const remove = fc.record(
  Object.fromEntries(
    (["services", "routes", "consumers", "keyauth_credentials"] as const).map((name) => [
      name,
      fc.array(idOf(name), { maxLength: 2 }),
    ]),
  ),
);

/** Copies the entities of a snapshot to new maps, for which no index is cached. */
const withoutIndex = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  ...(perCollection((name) => new Map<string, never>(snapshot[name] as ReadonlyMap<string, never>)) as object),
});

test("a change has the same errors and result with and without a cached index, and the updated index equals a new one", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ put, remove }), { maxLength: 12 }), (changes) => {
      let snapshot = emptySnapshot;
      for (const change of changes) {
        const known = applyChange(snapshot, change);
        const anew = applyChange(withoutIndex(snapshot), change);
        const describeAll = (list: typeof known.violations) => (list ?? []).map(describeViolation).sort();
        assert.deepEqual(describeAll(known.violations), describeAll(anew.violations));
        assert.equal(known.value?.hash, anew.value?.hash);
        snapshot = known.value ?? snapshot;
      }
      for (const name of collections) {
        const plain = (of: Snapshot) => {
          const { holders, referrers } = entityIndexOf(name, of[name]);
          const ids = [...holders].map(([key, list]) => [key, new Set(list.map(({ id }) => id))] as const);
          return [new Map(ids), new Map(referrers)];
        };
        assert.deepEqual(plain(snapshot), plain(withoutIndex(snapshot)));
      }
    }),
    { numRuns: 200 },
  );
});
