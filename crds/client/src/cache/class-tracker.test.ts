import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observer, Resource, WatchOptions } from "../resource.ts";
import { trackClasses } from "./class-tracker.ts";

const lease = (at: string, className: string, { holder = "one", reads = "all" } = {}): Resource => {
  const [namespace = "", name = ""] = at.split("/");
  const metadata = {
    namespace,
    name,
    labels: { "sluice.dev/class": className },
    annotations: { "sluice.dev/reads": reads },
  };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { holderIdentity: holder } };
};

const resource = (namespace: string, className?: string) => ({
  metadata: { namespace, name: "any" },
  spec: className === undefined ? {} : { class: className },
});

function scene({ own = { class: "sluice", namespace: "home" }, namespaces = [] as readonly string[] } = {}) {
  const watches: { readonly observer: Observer; readonly options: Partial<WatchOptions> }[] = [];
  const changes: (readonly string[])[] = [];
  const classes = trackClasses({
    client: { watch: (_, observer, { signal: __, ...options }) => void watches.push({ observer, options }) },
    own,
    namespaces,
    signal: new AbortController().signal,
    log: { warn() {} },
    onChange: (moved) => changes.push(moved),
  });
  return { classes, changes, watches, watch: (index = 0) => watches[index]?.observer as Observer };
}

const rows: readonly {
  readonly what: string;
  readonly leases: readonly Resource[];
  readonly of: readonly [namespace: string, spec?: string];
  readonly is: string;
}[] = [
  {
    what: "spec.class, even if a Lease assigns another class",
    leases: [lease("shop/a", "dev")],
    of: ["shop", "other"],
    is: "other",
  },
  { what: "the class of the Lease in its namespace", leases: [lease("shop/a", "dev")], of: ["shop"], is: "dev" },
  { what: "sluice in a namespace without a Lease", leases: [lease("shop/a", "dev")], of: ["mart"], is: "sluice" },
  {
    what: "the alphabetically first of the classes that several Leases in its namespace name",
    leases: [lease("shop/a", "two"), lease("shop/b", "one")],
    of: ["shop"],
    is: "one",
  },
  {
    what: "sluice, if the Leases in its namespace name sluice and another class",
    leases: [lease("shop/a", "dev"), lease("shop/b", "sluice")],
    of: ["shop"],
    is: "sluice",
  },
  {
    what: "the class of a Lease, even if the Lease has no holder",
    leases: [lease("shop/a", "dev", { holder: "" })],
    of: ["shop"],
    is: "dev",
  },
];

for (const { what, leases, of, is } of rows)
  test(`the class of a resource is ${what}`, () => {
    const { classes, watch } = scene();
    watch().replaced(leases);
    assert.equal(classes.classOf(resource(...of)), is);
  });

test("the home namespace has this installation's class before the installation's Lease exists", () => {
  const { classes, watches } = scene({ own: { class: "dev", namespace: "home" } });
  assert.deepEqual([classes.classOf(resource("home")), classes.isSynced()], ["dev", false]);
  assert.deepEqual(watches[0]?.options, { labels: "sluice.dev/class" });
});

test("a namespace whose class changes is reported when a Lease is created or deleted, and a renewal is not reported", () => {
  const { classes, changes, watch } = scene();
  watch().replaced([]);
  watch().changed(lease("shop/a", "dev"));
  watch().changed(lease("shop/a", "dev", { holder: "one" }));
  watch().removed(lease("shop/a", "dev"));
  assert.deepEqual(changes, [[], ["shop"], ["shop"]]);
  assert.equal(classes.classOf(resource("shop")), "sluice");
});

test("another installation's class is served while its Lease has a holder, and firstClusterWideClass returns a served class whose operator reads all namespaces", () => {
  const { classes, changes, watch } = scene();
  watch().replaced([lease("a/a", "dev", { reads: "some" }), lease("b/b", "away", { holder: "" })]);
  assert.deepEqual([classes.servedClasses(), classes.firstClusterWideClass()], [["dev", "sluice"], undefined]);
  watch().changed(lease("b/b", "away"));
  assert.deepEqual([classes.servedClasses(), classes.firstClusterWideClass()], [["away", "dev", "sluice"], "away"]);
  assert.equal(changes.length, 2);
});

test("each named namespace has its own watch, and the classes are synced only when all watches are", () => {
  const { classes, watches, watch } = scene({ namespaces: ["home", "shop"] });
  assert.deepEqual(
    watches.map(({ options }) => options.namespace),
    ["home", "shop"],
  );
  watch(0).replaced([]);
  assert.equal(classes.isSynced(), false);
  watch(1).replaced([lease("shop/a", "dev")]);
  watch(0).replaced([]);
  assert.deepEqual([classes.isSynced(), classes.classOf(resource("shop"))], [true, "dev"]);
  watch(1).lost?.(new Error("leases is forbidden"));
  assert.equal(classes.failure(), "leases is forbidden");
});
