import assert from "node:assert/strict";
import { test } from "node:test";
import { BATCH, BATCH_COMPLETE, BATCH_REMOVE, type Kind, type Resource } from "@sluice/crds";
import fc from "fast-check";
import { randomCases } from "../../../tools/stages/random-cases.ts";
import { createBatches, withHeldBack } from "../document/batches.ts";
import { createLastValidVersions } from "../saved-state/last-valid-versions.ts";
import type { WatchedKind } from "../watch/cluster-state.ts";
import { secretWithKey, testClusterState } from "./testing-cluster-state.ts";
import type { Translation } from "./translation.ts";
import { createTranslate } from "./translator.ts";

type Spec = Readonly<Record<string, unknown>>;

const names = ["default/a", "default/b", "default/c", "default/d", "team/a", "team/b"] as const;
const name = fc.constantFrom(...names);
const short = fc.constantFrom("a", "b", "c", "d");
const some = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 });
const rarely = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 12 }, { arbitrary: value, weight: 1 });
/** A reference by name, sometimes to another namespace. */
const ref = fc
  .record({ name: short, namespace: fc.constantFrom(undefined, undefined, undefined, "default", "team") })
  .map(({ name: called, namespace }) => ({ name: called, ...(namespace && { namespace }) }));
const ids = fc.constantFrom("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222");
/** Members that all kinds have; ids and names cause conflicts between resources. */
const shared = {
  id: rarely(ids),
  name: rarely(fc.constantFrom("x", "y", "team.x")),
  class: rarely(fc.constant("other")),
  tags: rarely(fc.constantFrom(["t"], "no list")),
};
const specs: Readonly<Record<string, fc.Arbitrary<Spec>>> = {
  Certificate: fc.record({
    ...shared,
    secretRef: ref,
    snis: some(fc.array(fc.record({ name: fc.constantFrom("a.test", "b.test") }), { maxLength: 2 })),
  }),
  Upstream: fc.record({
    ...shared,
    name: fc.constantFrom("x.test", "y.test", "team.x", undefined),
    targets: some(
      fc.array(fc.record({ target: fc.constantFrom("10.0.0.1:80", "10.0.0.2:80", "?!") }), { maxLength: 2 }),
    ),
    algorithm: rarely(fc.constant("wrong")),
    backendRefs: some(
      fc.array(
        fc
          .tuple(ref, fc.constantFrom(80, 81), fc.constantFrom(undefined, 0, 10))
          .map(([one, port, weight]) => ({ ...one, port, ...(weight !== undefined && { weight }) })),
        { maxLength: 3 },
      ),
    ),
  }),
  Service: fc.record({
    ...shared,
    host: fc.constantFrom("x.test", "y.test", "team.x", "z.test"),
    clientCertificateRef: rarely(ref),
    port: rarely(fc.constantFrom(80, "many")),
  }),
  Backend: fc.record({
    ...shared,
    backendRef: fc.tuple(ref, fc.constantFrom(80, 81)).map(([one, port]) => ({ ...one, port })),
  }),
  Route: fc.record({
    ...shared,
    serviceRef: some(ref),
    paths: fc.uniqueArray(fc.constantFrom("/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"), {
      minLength: 1,
      maxLength: 2,
    }),
    methods: rarely(fc.constantFrom(["GET"], 5)),
    protocols: some(fc.constantFrom(["http"], ["grpc"])),
  }),
  Consumer: fc.record({
    ...shared,
    username: fc.constantFrom("one", "two", "three", "four", "five", "six"),
    keyAuth: some(
      fc.array(
        ref.map((one) => ({ secretRef: { ...one, key: "key" } })),
        { maxLength: 2 },
      ),
    ),
  }),
  Plugin: fc.record({
    ...shared,
    plugin: fc.constantFrom("key-auth", "rate-limiting", "cors"),
    enabled: rarely(fc.constant(false)),
    protocols: some(fc.constantFrom(["http"], ["grpc"])),
    config: fc.constantFrom({}, { minute: 5 }, { minute: "many" }),
    targetRefs: fc.oneof(
      fc.tuple(fc.constantFrom("Service", "Route", "Consumer"), ref).map(([kind, one]) => [{ kind, ...one }]),
      fc.constant([]),
    ),
  }),
};

type Op =
  | {
      readonly op: "put";
      readonly kind: Kind;
      readonly name: string;
      readonly members: Partial<Resource>;
      readonly mark?: Mark;
    }
  | { readonly op: "remove"; readonly kind: Kind; readonly name: string }
  | { readonly op: "status"; readonly kind: Kind; readonly name: string }
  | { readonly op: "pass" };

interface Mark {
  readonly size: number;
  readonly removes: boolean;
  readonly completes: boolean;
}

const mark: fc.Arbitrary<Mark | undefined> = rarely(
  fc.record({ size: fc.constantFrom(1, 2), removes: fc.boolean(), completes: fc.boolean() }),
);
const kinds = ["Certificate", "Upstream", "Service", "Route", "Consumer", "Plugin"] as const;
const ours = Object.entries(specs).map(([kind, spec]) =>
  fc.record({ spec, name, mark }).map(
    ({ spec: members, name: called, mark: marked }): Op => ({
      op: "put",
      kind: (kind === "Backend" ? "Service" : kind) as Kind,
      name: called,
      members: { spec: Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) },
      ...(marked && { mark: marked }),
    }),
  ),
);
const core: fc.Arbitrary<Op> = fc.oneof(
  fc
    .record({ name, key: fc.constantFrom("k1", "k2", "k3", "k4") })
    .map((one): Op => ({ op: "put", kind: "Secret", name: one.name, members: secretWithKey(one.key) })),
  fc.record({ name, port: fc.constantFrom(80, 81) }).map(
    (one): Op => ({
      op: "put",
      kind: "CoreService",
      name: one.name,
      members: { spec: { ports: [{ port: one.port }] } },
    }),
  ),
  fc.record({ name, service: short, address: fc.constantFrom("10.1.0.1", "10.1.0.2") }).map(
    (one): Op => ({
      op: "put",
      kind: "EndpointSlice",
      name: one.name,
      members: {
        metadata: { name: "", namespace: "", labels: { "kubernetes.io/service-name": one.service } },
        endpoints: [{ addresses: [one.address] }],
        ports: [{ port: 8080 }],
      },
    }),
  ),
);
const sides = [
  ...kinds.map((kind) => ({ group: "sluice.dev", kind })),
  { group: "", kind: "Secret" },
  { group: "", kind: "Service" },
];
const grant: fc.Arbitrary<Op> = fc
  .record({
    name,
    from: fc.uniqueArray(
      fc.record({ kind: fc.constantFrom(...kinds), namespace: fc.constantFrom("default", "team") }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    to: fc.uniqueArray(fc.constantFrom(...sides), { minLength: 1, maxLength: 6 }),
    only: rarely(short),
  })
  .map(({ name: called, from, to, only }) => ({
    op: "put",
    kind: "ReferenceGrant",
    name: called,
    members: {
      spec: {
        from: from.map((side) => ({ group: "sluice.dev", ...side })),
        to: to.map((side) => ({ ...side, ...(only && { name: only }) })),
      },
    },
  }));
const any = fc.constantFrom<Kind>(...kinds, "Secret", "CoreService", "EndpointSlice", "ReferenceGrant");
const step: fc.Arbitrary<Op> = fc.oneof(
  { arbitrary: fc.oneof(...ours), weight: 8 },
  { arbitrary: core, weight: 3 },
  { arbitrary: grant, weight: 1 },
  { arbitrary: fc.record({ op: fc.constant("remove" as const), kind: any, name }), weight: 3 },
  { arbitrary: fc.record({ op: fc.constant("status" as const), kind: any, name }), weight: 1 },
  { arbitrary: fc.constant({ op: "pass" } as const), weight: 1 },
);

/** The maps in a form that can be compared: without their order and their internal structure. */
const plain = ({ items, endpoints, upstream_endpoints, problems, owners }: Translation) => ({
  items: Object.fromEntries(Object.entries(items).map(([collection, map]) => [collection, new Map(map)])),
  endpoints: new Map(endpoints),
  upstream_endpoints: new Map(upstream_endpoints),
  problems: new Map(problems),
  owners: new Map(owners),
});

const options = { homeNamespace: "default", class: "sluice" };
const ONE = "0a1b2c3d-0000-4000-8000-000000000001";
const annotations = ({ size, removes, completes }: Mark): Record<string, string> => ({
  [BATCH]: `${ONE}/${size}`,
  ...(removes && { [BATCH_REMOVE]: ONE }),
  ...(completes && { [BATCH_COMPLETE]: ONE }),
});

/**
 * Applies steps of several operations; all operations of one step are translated together. Asserts that each result
 * equals the result of a full translation. `carried`: the number of steps that were translated incrementally.
 */
function follow(steps: readonly (readonly Op[])[], keepsValid = false): { readonly carried: number } {
  const { clusterState, put, remove } = testClusterState();
  const lastValid = createLastValidVersions();
  const translate = createTranslate(keepsValid ? { ...options, lastValid } : options);
  let time = 0;
  const batches = createBatches({ class: "sluice", now: () => time });
  let changed: Set<string> | null = null;
  let inBatches: readonly string[] = [];
  let before: Translation | undefined;
  let carried = 0;
  for (const ops of steps) {
    for (const one of ops) {
      if (one.op === "pass") {
        time += 6000;
        continue;
      }
      const { kind } = one;
      const held = clusterState[kind as WatchedKind] as Map<string, Resource>;
      const there = held.get(one.name);
      if (one.op === "put") {
        const { metadata } = one.members;
        const marked = one.mark && { annotations: annotations(one.mark) };
        const members = { ...one.members, metadata: { name: "", namespace: "", ...metadata, ...marked } };
        batches.observe(kind, there ?? null, put(kind, one.name, members));
      } else if (one.op === "remove") remove(kind, one.name);
      else if (there) held.set(one.name, { ...there, status: { conditions: [] } });
      changed?.add(`${kind}/${one.name}`);
    }
    const { clusterState: counted, ...heldBack } = batches.holdBack(clusterState);
    const inBatchesNow = [...heldBack.held, ...heldBack.problems.keys()];
    for (const key of [...inBatches, ...inBatchesNow]) changed?.add(key);
    inBatches = inBatchesNow;
    // An operator that starts at this point knows the last valid versions so far.
    const kept = createLastValidVersions();
    kept.restore(lastValid.all());
    const now = translate(counted, changed);
    changed = new Set();
    const whole = createTranslate(keepsValid ? { ...options, lastValid: kept } : options)(counted);
    assert.deepEqual(new Set(lastValid.all().keys()), new Set(kept.all().keys()));
    assert.deepEqual(plain(now), plain(whole));
    assert.deepEqual(plain(withHeldBack(now, heldBack)), plain(withHeldBack(whole, heldBack)));
    // A full translation creates all maps again.
    if (before?.items.snis === now.items.snis) carried++;
    before = now;
  }
  return { carried };
}

for (const keepsValid of [false, true])
  test(`an incremental translation equals a full translation after any changes${keepsValid ? ", with last valid versions" : ""}`, () => {
    let carried = 0;
    let steps = 0;
    fc.assert(
      fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 10, maxLength: 60 }), (all) => {
        carried += follow(all, keepsValid).carried;
        steps += all.length;
      }),
      { numRuns: randomCases(10) },
    );
    assert.ok(carried > steps / 8, `only ${carried} of ${steps} steps were incremental`);
  });

/** Upstreams with core Services, without conflicts and invalid members, which would cause full translations. */
const backed: fc.Arbitrary<Op> = fc.oneof(
  fc
    .record({
      name: fc.constantFrom("default/a", "team/a"),
      id: some(ids),
      backendRefs: fc.uniqueArray(
        fc.record({ name: short, port: fc.constantFrom(80, 81), weight: fc.constantFrom(0, 10, 90) }),
        { maxLength: 3, selector: ({ name: called, port }) => `${called}:${port}` },
      ),
    })
    .map(({ name: called, id, backendRefs }): Op => {
      const own = id && called === "default/a" ? { id } : {};
      return { op: "put", kind: "Upstream", name: called, members: { spec: { ...own, backendRefs } } };
    }),
  { arbitrary: core, weight: 3 },
  fc
    .record({ kind: fc.constantFrom<Kind>("Upstream", "CoreService", "EndpointSlice"), name })
    .map((one): Op => ({ op: "remove", ...one })),
);

test("changes of Upstreams, their core Services and endpoints are translated incrementally", () => {
  fc.assert(
    fc.property(fc.array(fc.array(backed, { minLength: 1, maxLength: 2 }), { minLength: 20, maxLength: 60 }), (all) => {
      // Unrelated resources, so that a change is a small part.
      const others: Op[] = Array.from({ length: 20 }, (_, index) => ({
        op: "put",
        kind: "Service",
        name: `default/n${index}`,
        members: { spec: { url: `http://n${index}.test` } },
      }));
      assert.equal(follow([others, ...all]).carried, all.length);
    }),
    { numRuns: randomCases(10) },
  );
});

test("a version that is used again because a batch is incomplete is recorded as valid again, although the resource had another class in between", () => {
  const put = (spec: Spec, one?: Mark): Op[] => [
    { op: "put", kind: "Route", name: "default/a", members: { spec }, ...(one && { mark: one }) },
  ];
  const paths = ["/a"];
  const begun = { size: 2, removes: false, completes: false };
  follow([put({ paths }), put({ paths, class: "other" }, { ...begun, removes: true }), put({ paths }, begun)], true);
});

test("independent changes are translated incrementally, one or two at a time", () => {
  const put = (kind: Kind, called: string, spec: Spec): Op => ({
    op: "put",
    kind,
    name: `default/${called}`,
    members: { spec },
  });
  const many = Array.from({ length: 20 }, (_, index) => `n${index}`);
  const steps: Op[][] = [
    many.map((one) => put("Service", one, { url: `http://${one}.test` })),
    many.map((one) => put("Route", one, { serviceRef: { name: one }, paths: [`/${one}`] })),
    ...many.map((one) => [put("Plugin", one, { plugin: "key-auth", targetRefs: [{ kind: "Route", name: one }] })]),
    ...many.map((one): Op[] => [
      { op: "put", kind: "Secret", name: `default/${one}`, members: secretWithKey(`key of ${one}`) },
      put("Consumer", one, { username: one, keyAuth: [{ secretRef: { name: one, key: "key" } }] }),
    ]),
    // A key whose Secret is created after the Consumer.
    [put("Consumer", "late", { username: "late", keyAuth: [{ secretRef: { name: "late", key: "key" } }] })],
    [{ op: "put", kind: "Secret", name: "default/late", members: secretWithKey("late key") }],
    ...many.map((one): Op[] => [put("Service", one, { url: `http://${one}.other.test` })]),
    ...many.map((one): Op[] => [{ op: "status", kind: "Route", name: `default/${one}` }]),
    ...many.map((one): Op[] => [{ op: "remove", kind: "Plugin", name: `default/${one}` }]),
  ];
  assert.equal(
    follow(steps).carried,
    steps.length - 2,
    "the first step has no predecessor, and the second has many changes",
  );
});

test("translating a change among thousands of resources reads only the changed resource and its references", () => {
  const { clusterState, put } = testClusterState();
  const translate = createTranslate(options);
  for (let index = 0; index < 2000; index++) {
    put("Service", `s${index}`, { spec: { url: `http://${index}.test` } });
    put("Route", `r${index}`, { spec: { serviceRef: { name: `s${index}` }, paths: [`/${index}`] } });
  }
  const before = translate(clusterState);
  const asked: string[] = [];
  const watched = Object.fromEntries(
    Object.entries(clusterState).map(([kind, held]) => {
      const get = (key: string) => {
        asked.push(`${kind}/${key}`);
        return held.get(key);
      };
      return [kind, Object.assign(Object.create(null), { get })];
    }),
  ) as typeof clusterState;
  put("Route", "r7", { spec: { serviceRef: { name: "s8" }, paths: ["/seven"] } });
  const after = translate(watched, new Set(["Route/default/r7"]));
  assert.deepEqual(new Set(asked), new Set(["Route/default/r7", "Service/default/s8"]));
  const shared = after.items.routes.buckets.filter((bucket, at) => bucket === before.items.routes.buckets[at]);
  assert.equal(shared.length, 255);
  assert.equal(after.items.services, before.items.services);
});
