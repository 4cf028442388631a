import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { createLastValidVersions, type LastValidVersions } from "../../saved-state/last-valid-versions.ts";
import { secretWithKey, testClusterState } from "../testing-cluster-state.ts";
import { createTranslate } from "../translator.ts";

function scene(lastValid: LastValidVersions = createLastValidVersions()) {
  const made = testClusterState();
  const start = () => createTranslate({ homeNamespace: "default", class: "sluice", lastValid });
  let translate = start();
  const { put } = made;
  put("Service", "users", { spec: { url: "http://users.test" } });
  put("Route", "users", { spec: { serviceRef: { name: "users" }, paths: ["/users"] } });
  put("Plugin", "keys", { spec: { plugin: "key-auth", targetRefs: [{ kind: "Route", name: "users" }] } });
  const translated = () => {
    const { items, problems } = translate(made.clusterState);
    const [route] = [...items.routes.values()].map(({ entity }) => entity);
    const [plugin] = [...items.plugins.values()].map(({ entity }) => entity);
    const unavailable = (entity: typeof route) =>
      (entity?._sluice as { unavailable?: string } | undefined)?.unavailable;
    return {
      paths: route && [route.paths, unavailable(route) !== undefined],
      plugin: plugin && [(plugin.config as object | undefined) ?? null, unavailable(plugin) !== undefined],
      said: [...problems.values()].flat().map(({ message }) => message),
    };
  };
  return {
    ...made,
    translated,
    /** Simulates a new process that knows only the saved versions. */
    restart() {
      const kept = new Map(lastValid.all());
      for (const key of kept.keys()) lastValid.forget(key);
      lastValid.restore(kept);
      translate = start();
    },
    forgetAll() {
      for (const key of lastValid.all().keys()) lastValid.forget(key);
      translate = start();
    },
  };
}
const route = (paths: readonly string[], service = "users") => ({ spec: { serviceRef: { name: service }, paths } });

for (const restarts of [false, true])
  test(`a route that is made invalid is served in its last valid version${restarts ? ", even after a restart" : ""}`, () => {
    const { put, translated, restart } = scene();
    translated();
    put("Route", "users", route(["/people"]));
    translated();
    put("Route", "users", route(["no-slash"]));
    if (restarts) restart();
    const { paths, said } = translated();
    assert.deepEqual(paths, [["/people"], false]);
    assert.equal(said.length, 1);
    assert.match(
      said[0] ?? "",
      /should start with: \/.*; its last valid version, generation 2, is served until a valid one/,
    );
    put("Route", "users", route(["/again"]));
    assert.deepEqual([translated().paths, translated().said], [[["/again"], false], []]);
  });

test("a protecting plugin that becomes invalid protects as its last valid version does, or answers 503 if there is none", () => {
  const { put, translated, forgetAll } = scene();
  const faulty = {
    spec: { plugin: "key-auth", targetRefs: [{ kind: "Route", name: "users" }], config: { key_names: 7 } },
  };
  const before = translated().plugin;
  put("Plugin", "keys", faulty);
  assert.deepEqual(translated().plugin, before);
  assert.equal(before?.[1], false);
  forgetAll();
  assert.equal(translated().plugin?.[1], true);
});

/** Invalid specs of a plugin that was a valid cors before, and whether its last valid version is served. */
const madeInvalid: readonly (readonly [what: string, spec: object, isServed: boolean])[] = [
  ["a misspelt key-auth", { plugin: "key-atuh" }, false],
  ["an invalid rate-limiting", { plugin: "rate-limiting" }, false],
  ["an invalid cors", { plugin: "cors", config: { max_age: "long" } }, true],
];
for (const [what, spec, isServed] of madeInvalid)
  test(`a cors plugin that is changed to ${what} ${isServed ? "is served in its last valid version" : "answers 503"}`, () => {
    const { put, translated } = scene();
    const targetRefs = [{ kind: "Route", name: "users" }];
    put("Plugin", "keys", { spec: { plugin: "cors", targetRefs } });
    translated();
    put("Plugin", "keys", { spec: { ...spec, targetRefs } });
    assert.equal(translated().plugin?.[1], !isServed);
  });

test("a route that was invalid in every translation is left out or answers 503", () => {
  const { put, translated } = scene();
  put("Route", "users", route(["no-slash"]));
  assert.equal(translated().paths?.[1] ?? true, true);
});

test("another resource with the same name does not inherit the last valid version", () => {
  const { put, remove, translated } = scene();
  translated();
  remove("Route", "users");
  put("Route", "users", route(["no-slash"]));
  assert.notDeepEqual(translated().paths, [["/users"], false]);
});

test("the last valid version of a route does not bring back a deleted Service", () => {
  const { put, remove, translated } = scene();
  put("Secret", "key", secretWithKey("a key"));
  translated();
  put("Route", "users", route(["no-slash"]));
  remove("Service", "users");
  assert.equal(translated().paths?.[1] ?? true, true, "no request is sent to a removed service");
});

test("a route with a missing reference answers 503 although the route itself is valid", () => {
  const { put, translated } = scene();
  translated();
  put("Route", "users", route(["/users"], "nobody"));
  assert.deepEqual(translated().paths, [["/users"], true]);
});

test("a last valid version with a different id is not served: other resources refer to the current id", () => {
  const { put, translated } = scene();
  translated();
  put("Service", "users", { spec: { url: "nonsense", id: "5f6c1e30-7f5b-4d4b-8f8e-0d7c1f1f2a3b" } });
  assert.equal(translated().paths?.[1] ?? true, true);
});

for (const how of ["full translation", "incremental translation"])
  test(`a version that another operator saved replaces an invalid route that was translated before (${how})`, () => {
    const lastValid = createLastValidVersions();
    const { clusterState, put } = testClusterState();
    const translate = createTranslate({ homeNamespace: "default", class: "sluice", lastValid });
    const key = "Route/default/users";
    const paths = (changed: ReadonlySet<string> | null = null) =>
      [...translate(clusterState, changed).items.routes.values()].map(({ entity }) => entity.paths);
    put("Service", "users", { spec: { url: "http://users.test" } });
    const versions = [["/first"], ["/second"], ["no-slash"]].map((one) => put("Route", "users", route(one)));
    const restore = (version: Resource | undefined) =>
      lastValid.restore(new Map(version && [[key, version]]), () => clusterState.Route.get("default/users"));
    const changed = () => (how === "full translation" ? null : new Set([key]));
    const leftOut = paths();
    restore(versions[0]);
    assert.deepEqual(paths(changed()), [["/first"]]);
    assert.notDeepEqual(leftOut, [["/first"]]);
    restore(versions[1]);
    assert.deepEqual(paths(changed()), [["/second"]]);
    restore(versions[0]);
    assert.deepEqual(paths(changed()), [["/second"]]);
  });

test("the saved version of a deleted resource is dropped by the next translation", () => {
  const { clusterState, put } = testClusterState();
  const lastValid = createLastValidVersions();
  const translate = createTranslate({ homeNamespace: "default", class: "sluice", lastValid });
  const gone = put("Service", "gone", { spec: { url: "http://gone.test" } });
  put("Service", "users", { spec: { url: "http://users.test" } });
  (clusterState.Service as Map<string, Resource>).delete("default/gone");
  translate(clusterState);
  lastValid.restore(new Map([["Service/default/gone", gone]]));
  translate(clusterState, new Set(["Service/default/gone"]));
  assert.deepEqual([...lastValid.all().keys()], ["Service/default/users"]);
});
