/** Two resources with the same claim: the younger resource is served once the older resource releases the claim. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind, Resource } from "@sluice/crds";
import { grantBetween, secretWithKey, testClusterState } from "../testing-cluster-state.ts";
import type { Translation } from "../translation.ts";
import { createTranslate } from "../translator.ts";

type Spec = NonNullable<Resource["spec"]>;
const key = { keyAuth: [{ secretRef: { name: "key", key: "key" } }] };
const toService = { targetRefs: [{ kind: "Service", name: "up" }] };

interface Case {
  readonly what: string;
  readonly kind: Kind;
  /** `namespace/name` of the older resource, and its spec. */
  readonly older: readonly [string, Spec];
  readonly younger: readonly [string, Spec];
  /** A spec with which the older resource releases its claim. */
  readonly instead: Spec;
  readonly message: RegExp;
}

const cases: readonly Case[] = [
  {
    what: "match in one namespace",
    kind: "Route",
    older: ["default/z", { paths: ["/a"] }],
    younger: ["default/a", { paths: ["/a"] }],
    instead: { paths: ["/other"] },
    message: /^the older Route default\/z matches the same requests/,
  },
  {
    what: "match in different namespaces",
    kind: "Route",
    older: ["team/z", { hosts: ["a.test", "b.test"], paths: ["/a"] }],
    younger: ["default/a", { hosts: ["b.test"], paths: ["/a"] }],
    instead: { hosts: ["a.test"], paths: ["/a"] },
    message: /^the older Route team\/z matches the same requests/,
  },
  {
    what: "name",
    kind: "Service",
    older: ["team/z", { name: "web", url: "http://z.test" }],
    younger: ["default/web", { url: "http://a.test" }],
    instead: { url: "http://z.test" },
    message: /^the older Service team\/z has the name web/,
  },
  {
    what: "username",
    kind: "Consumer",
    older: ["team/z", { username: "ann" }],
    younger: ["default/a", { username: "ann" }],
    instead: { username: "bob" },
    message: /^the older Consumer team\/z has the username ann/,
  },
  {
    what: "custom_id",
    kind: "Consumer",
    older: ["team/z", { username: "z", customId: "7" }],
    younger: ["default/a", { username: "a", customId: "7" }],
    instead: { username: "z", customId: "8" },
    message: /^the older Consumer team\/z has the custom_id 7/,
  },
  {
    what: "key in one namespace",
    kind: "Consumer",
    older: ["team/z", { username: "z", ...key }],
    younger: ["team/a", { username: "a", ...key }],
    instead: { username: "z" },
    message: /^the older Consumer team\/z has this key/,
  },
  {
    what: "key in the home namespace and in another",
    kind: "Consumer",
    older: ["team/z", { username: "z", ...key }],
    younger: ["default/a", { username: "a", ...key }],
    instead: { username: "z" },
    message: /^a Consumer of another namespace has this key/,
  },
  {
    what: "target",
    kind: "Plugin",
    older: ["default/z", { plugin: "cors", ...toService }],
    younger: ["default/a", { plugin: "cors", ...toService }],
    instead: { plugin: "prometheus", ...toService },
    message: /^the older Plugin default\/z has the plugin cors for the same target/,
  },
];

/** A translated cluster state with both resources. `step` translates it again after a change of the older resource. */
function scene({ kind, older, younger }: Pick<Case, "kind" | "older" | "younger">) {
  const { clusterState, put, remove } = testClusterState();
  put("Service", "up", { spec: { url: "http://up.test" } });
  for (const namespace of ["default", "team"]) put("Secret", `${namespace}/key`, secretWithKey("the same key"));
  for (let index = 0; index < 20; index++) put("Route", `other-${index}`, { spec: { paths: [`/other-${index}`] } });
  put(kind, older[0], { spec: older[1] });
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  translate(clusterState);
  // From here on translations are incremental where possible.
  put(kind, younger[0], { spec: younger[1] });
  const begun = translate(clusterState, new Set([`${kind}/${younger[0]}`]));
  const step = (change: () => void): Translation => {
    change();
    return translate(clusterState, new Set([`${kind}/${older[0]}`]));
  };
  return { put, remove, begun, step };
}

const problemOf = ({ problems }: Translation, kind: Kind, name: string) => problems.get(`${kind}/${name}`)?.[0];

for (const one of cases) {
  const { what, kind, older, younger, instead, message } = one;
  test(`${kind}s that claim the same ${what}: the younger ${kind} gets a condition, and is served once the older ${kind} is deleted`, () => {
    const { remove, begun, step } = scene(one);
    const problem = problemOf(begun, kind, younger[0]);
    assert.deepEqual([problem?.condition, problem?.reason], ["Accepted", "Conflicted"]);
    assert.match(problem?.message ?? "", message);
    assert.equal(problemOf(begun, kind, older[0]), undefined);
    const after = step(() => remove(kind, older[0]));
    assert.equal(problemOf(after, kind, younger[0]), undefined);
  });

  test(`${kind}s that claim the same ${what}: the younger ${kind} is served once the older ${kind} claims another value`, () => {
    const { put, step } = scene(one);
    const after = step(() => put(kind, older[0], { spec: instead }));
    assert.deepEqual([problemOf(after, kind, younger[0]), problemOf(after, kind, older[0])], [undefined, undefined]);
  });

  test(`${kind}s that claim the same ${what}: the younger ${kind} is served once the older ${kind} has a different class`, () => {
    const { put, step } = scene(one);
    const after = step(() => put(kind, older[0], { spec: { ...older[1], class: "other" } }));
    assert.equal(problemOf(after, kind, younger[0]), undefined);
  });
}

test("of resources that were created in the same second, the first by namespace and name counts as the oldest", () => {
  const { clusterState, put } = testClusterState();
  const members = {
    spec: { paths: ["/a"] },
    metadata: { name: "", namespace: "", creationTimestamp: "2026-01-01T00:00:00Z" },
  };
  for (const name of ["team/a", "default/b", "default/a"]) put("Route", name, members);
  const translation = createTranslate({ homeNamespace: "default", class: "sluice" })(clusterState);
  assert.deepEqual(
    ["default/a", "default/b", "team/a"].map(
      (name) => problemOf(translation, "Route", name)?.message.split(" matches")[0],
    ),
    [undefined, "the older Route default/a", "the older Route default/a"],
  );
});

test("a grant for keys of another namespace makes equal keys conflict", () => {
  const { clusterState, put, remove } = testClusterState();
  for (const namespace of ["one", "two"]) {
    put("Secret", `${namespace}/key`, secretWithKey("the same key"));
    put("Consumer", `${namespace}/own`, { spec: { username: namespace, ...key } });
  }
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const reasons = (translation: Translation) =>
    ["one", "two"].map((namespace) => problemOf(translation, "Consumer", `${namespace}/own`)?.message);
  assert.deepEqual(reasons(translate(clusterState)), [undefined, undefined]);
  const changed = new Set(["ReferenceGrant/two/in"]);
  put("ReferenceGrant", "two/in", grantBetween([{ kind: "Consumer", namespace: "one" }], [{ kind: "Route" }]));
  const [first, second] = reasons(translate(clusterState, changed));
  assert.deepEqual([first, second?.split(":")[0]], [undefined, "a Consumer of another namespace has this key"]);
  remove("ReferenceGrant", "two/in");
  assert.deepEqual(reasons(translate(clusterState, changed)), [undefined, undefined]);
});

test("a Route whose reference needs a grant is served while the grant exists, and answers 503 after its removal", () => {
  const { clusterState, put, remove } = testClusterState();
  put("Service", "shop/web", { spec: { url: "http://web.test" } });
  put("Route", "team/web", { spec: { paths: ["/web"], serviceRef: { namespace: "shop", name: "web" } } });
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const reason = (translation: Translation) => problemOf(translation, "Route", "team/web")?.reason;
  assert.equal(reason(translate(clusterState)), "RefNotPermitted");
  const changed = new Set(["ReferenceGrant/shop/in"]);
  put("ReferenceGrant", "shop/in", grantBetween([{ kind: "Route", namespace: "team" }], [{ kind: "Service" }]));
  const granted = translate(clusterState, changed);
  assert.equal(reason(granted), undefined);
  assert.deepEqual(
    [...granted.items.routes.values()].map(({ entity }) => entity.service),
    [...granted.items.services.keys()].map((id) => ({ id })),
  );
  remove("ReferenceGrant", "shop/in");
  const revoked = translate(clusterState, changed);
  assert.equal(reason(revoked), "RefNotPermitted");
  assert.deepEqual(
    [...revoked.items.routes.values()].map(({ entity }) => [
      entity.service,
      Object(entity._sluice).unavailable !== undefined,
    ]),
    [[null, true]],
  );
});

test("a derived Plugin is left out while an older Service of another namespace has the name of a Service that it requires", () => {
  const { clusterState, put } = testClusterState();
  const claim = (name: string) => put("Service", "team/old", { spec: { name, url: "http://old.test" } });
  claim("old");
  put("Service", "shop/mirror", { spec: { name: "shop.mirror", url: "http://mirror.test" } });
  put("Route", "shop/web", { spec: { paths: ["/web"] } });
  const mirrors = [{ service: "shop.mirror", percentage: 100 }];
  const spec = { plugin: "request-mirror", config: { mirrors }, targetRefs: [{ kind: "Route", name: "web" }] };
  put("Plugin", "shop/copies", {
    spec,
    derived: { requiredServices: ["mirror"], sourcePaths: {} },
  } as Partial<Resource>);
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const changed = new Set(["Service/team/old"]);
  const outcome = (translation: Translation) => [
    [...translation.items.plugins.values()].length,
    problemOf(translation, "Plugin", "shop/copies")?.reason,
  ];
  assert.deepEqual(outcome(translate(clusterState)), [1, undefined]);
  claim("shop.mirror");
  assert.deepEqual(outcome(translate(clusterState, changed)), [0, "ServiceNotServed"]);
  claim("old");
  assert.deepEqual(outcome(translate(clusterState, changed)), [1, undefined]);
});

test("the problems of a resource in another namespace are not revealed", () => {
  const { clusterState, put } = testClusterState();
  put("Service", "shop/web", { spec: { url: "http://web.test", port: 81 } });
  put("ReferenceGrant", "shop/in", grantBetween([{ kind: "Route", namespace: "team" }], [{ kind: "Service" }]));
  put("Route", "team/web", { spec: { paths: ["/web"], serviceRef: { namespace: "shop", name: "web" } } });
  put("Route", "shop/web", { spec: { paths: ["/own"], serviceRef: { name: "web" } } });
  const translation = createTranslate({ homeNamespace: "default", class: "sluice" })(clusterState);
  const message = (name: string) => problemOf(translation, "Route", name)?.message ?? "";
  assert.equal(message("team/web"), "the Service shop/web is not served");
  assert.match(message("shop/web"), /^the Service web is not served: spec\.port: /);
});
