import assert from "node:assert/strict";
import { test } from "node:test";
import { testClusterState } from "../testing-cluster-state.ts";
import { createResourceTranslations, type EntityTranslation } from "../translate-resource.ts";
import type { Owner, TranslationItem } from "../translation.ts";
import { createStandIns, unavailableReasonFor } from "./unavailable-entities.ts";

const owner: Owner = { kind: "Plugin", namespace: "default", name: "mine" };
const never = () => false;

/** The first entity of a resource; every reference resolves to the same id. */
function pieceOf(kind: "Plugin" | "Route", spec: object, namespace = "default"): EntityTranslation {
  const { put } = testClusterState();
  const resource = put(kind, `${namespace}/mine`, { spec: { ...spec } });
  const ask = {
    resolve: () => "11111111-1111-4111-8111-111111111111",
    read: () => undefined,
    isReferenceAllowed: () => false,
    namespacesOpenTo: () => [],
  };
  const [piece] = createResourceTranslations("default").translate(resource, ask).entities;
  assert.ok(piece);
  return piece;
}
const plugin = (
  piece: EntityTranslation,
  isTaken: (id: string) => boolean = never,
): TranslationItem["entity"] | undefined => createStandIns().plugin(piece, { owner, reason: "why", isTaken });

const service = [{ kind: "Service", name: "users" }];
/** Faulty plugins, their namespace, and the members that define the stand-in's scope; null: there is no stand-in. */
const standIns: readonly (readonly [string, object, string, readonly string[] | null])[] = [
  [
    "an invalid key-auth",
    { plugin: "key-auth", targetRefs: service, config: { key_names: 1 } },
    "default",
    ["service"],
  ],
  ["an invalid rate-limiting", { plugin: "rate-limiting", targetRefs: service }, "default", ["service"]],
  [
    "an invalid rate-limiting for a consumer",
    { plugin: "rate-limiting", targetRefs: [{ kind: "Consumer", name: "demo" }] },
    "default",
    ["consumer"],
  ],
  ["an invalid global plugin", { plugin: "rate-limiting" }, "default", []],
  ["an invalid global plugin outside the home namespace", { plugin: "rate-limiting" }, "team", null],
  [
    "an invalid plugin that does not protect",
    { plugin: "cors", targetRefs: service, config: { methods: 1 } },
    "default",
    null,
  ],
  [
    "an invalid plugin that is disabled",
    { plugin: "rate-limiting", targetRefs: service, enabled: false },
    "default",
    null,
  ],
  [
    "a plugin whose `enabled` is invalid",
    { plugin: "rate-limiting", targetRefs: service, enabled: "no" },
    "default",
    ["service"],
  ],
  ["an unknown plugin", { plugin: "oauth2", targetRefs: service }, "default", ["service"]],
  ["a misspelt plugin", { plugin: "key-atuh", targetRefs: service }, "default", ["service"]],
  ["a misspelt global plugin", { plugin: "key-atuh" }, "default", []],
  ["a misspelt global plugin outside the home namespace", { plugin: "key-atuh" }, "team", null],
  ["a misspelt plugin that is disabled", { plugin: "key-atuh", targetRefs: service, enabled: false }, "default", null],
  [
    "a misspelt plugin of a consumer",
    { plugin: "key-atuh", targetRefs: [{ kind: "Consumer", name: "demo" }] },
    "default",
    ["consumer"],
  ],
  ["a plugin whose name is missing", { plguin: "key-auth", targetRefs: service }, "default", ["service"]],
  ["a plugin whose name is not a string", { plugin: 7, targetRefs: service }, "default", ["service"]],
  ["a plugin whose name is too long", { plugin: "x".repeat(65), targetRefs: service }, "default", ["service"]],
  ["a plugin with an unknown member of a newer CRD", { plugin: "key-auth", group: "a" }, "default", []],
  [
    "key-auth for a consumer",
    { plugin: "key-auth", targetRefs: [{ kind: "Consumer", name: "demo" }] },
    "default",
    null,
  ],
  [
    "a plugin whose targets cannot be determined",
    { plugin: "key-auth", targetRefs: [{ kind: "Rout", name: "x" }] },
    "default",
    null,
  ],
];
for (const [what, spec, namespace, scope] of standIns)
  test(`${what} ${scope ? "answers 503" : "has no stand-in"}`, () => {
    const entity = plugin(pieceOf("Plugin", spec, namespace));
    if (scope === null) return assert.equal(entity, undefined);
    const targets = ["service", "route", "consumer"].filter((member) => entity?.[member]);
    assert.deepEqual([targets, entity?._sluice, entity?.enabled], [scope, { unavailable: "why" }, true]);
  });

test("a stand-in has an unused id, even if a resource claims the expected id", () => {
  const piece = pieceOf("Plugin", { plugin: "rate-limiting", targetRefs: service });
  const taken = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const entity = plugin(piece, (id) => taken.has(id));
    assert.ok(entity && !taken.has(entity.id));
    taken.add(entity.id);
  }
});

test("an unchanged stand-in is the same object, and a different reason gives a new stand-in", () => {
  const standIns = createStandIns();
  const piece = pieceOf("Plugin", { plugin: "rate-limiting", targetRefs: service });
  const make = (reason: string) => standIns.plugin(piece, { owner, reason, isTaken: never });
  const first = make("why");
  assert.equal(make("why"), first);
  assert.notEqual(make("other"), first);
});

test("a route with an unknown member answers 503; a route with an invalid path is left out", () => {
  const standIns = createStandIns();
  const entity = standIns.route(pieceOf("Route", { paths: ["/a"], serviceRef: { name: "users" }, tag: [] }), "why");
  assert.deepEqual([entity?.service, entity?._sluice], [null, { namespace: "default", unavailable: "why" }]);
  assert.equal(standIns.route(pieceOf("Route", { paths: ["a"] }), "why"), undefined);
});

test("a reason names the resource and its first three violations, within the model's length limit", () => {
  assert.equal(unavailableReasonFor(owner, ["a", "b", "c", "d"]), "Plugin default/mine: a; b; c");
  const long = unavailableReasonFor(owner, [`${"x".repeat(972)}😀${"y".repeat(2000)}`]);
  assert.ok(long.length <= 1024 && long.isWellFormed() && long.endsWith("…"));
});
