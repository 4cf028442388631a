/** Plugins that refer to a changed vault get new instances. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConfig, type Plugin, type Snapshot, type Vault } from "@sluice/model";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { fakeExchange, fakeServices, pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import { compile } from "./compile.ts";
import { pluginEntityNamed, routeNamed, snapshotOfEntities, vaultNamed } from "./testing-entities.ts";

interface Made extends PluginPhases {
  readonly key: unknown;
}

const plugins = pluginsWithPhases((config): Made => ({ key: config.key, log() {} }));
const variables = { A_KEY: "of-a", B_KEY: "of-b", KEY: "without-prefix" };
const tools = { plugins, services: fakeServices({ vault: { allowed: ["*"], variables } }) };

const loggly = (name: string, key: string): Plugin =>
  pluginEntityNamed("loggly", {
    id: name.padEnd(36, "0"),
    config: checkConfig("loggly", { key }).value ?? assert.fail(),
  });
const [mine, other, plain] = [
  loggly("mine", "{vault://mine/key}"),
  loggly("other", "{vault://other/key}"),
  loggly("plain", "secret"),
];
const all = [mine, other, plain];

const snapshotWith = (vaults: readonly Vault[], of: readonly Plugin[] = all) =>
  snapshotOfEntities({ plugins: of, vaults });

/** After the change: each plugin's key (null: no instance), and the numbers of added and removed instances. */
function changed(before: Snapshot, after: Snapshot) {
  const old = compile(null, before, tools);
  const next = compile(old, after, tools);
  const { added, removed } = next.instancesSince(old);
  const keyOf = ({ id }: Plugin) => (next.pluginPhases(id) as Made | null)?.key ?? null;
  return { keys: all.map(keyOf), added: added.length, removed: removed.length };
}

const a = vaultNamed("mine", "A_");
const second = vaultNamed("other", "B_");
const b = { ...a, config: { prefix: "B_" } };
const rows: readonly (readonly [what: string, before: readonly Vault[], after: readonly Vault[], unknown])[] = [
  ["an added vault", [second], [second, a], { keys: ["of-a", "of-b", "secret"], added: 1, removed: 0 }],
  ["a vault with another config", [a, second], [b, second], { keys: ["of-b", "of-b", "secret"], added: 1, removed: 1 }],
  [
    "a vault that loses its config",
    [a, second],
    [{ ...a, config: null }, second],
    { keys: ["without-prefix", "of-b", "secret"], added: 1, removed: 1 },
  ],
  ["a removed vault", [a, second], [second], { keys: [null, "of-b", "secret"], added: 0, removed: 1 }],
  [
    "a vault that gets the prefix of a removed vault",
    [a, second],
    [{ ...second, prefix: "mine" }],
    { keys: ["of-b", null, "secret"], added: 1, removed: 2 },
  ],
  [
    "an added vault that no plugin uses",
    [a, second],
    [a, second, vaultNamed("unused")],
    { keys: ["of-a", "of-b", "secret"], added: 0, removed: 0 },
  ],
];
for (const [what, before, after, expected] of rows)
  test(`${what} changes only the instances of plugins that refer to the vault`, () => {
    assert.deepEqual(changed(snapshotWith(before), snapshotWith(after)), expected);
  });

test("a plugin gets a single new instance if it and its vault change together, and none if it is removed", () => {
  const moved = { ...mine, config: { ...mine.config, host: "moved.test" } };
  const expected = { keys: ["of-b", "of-b", "secret"], added: 1, removed: 1 };
  assert.deepEqual(changed(snapshotWith([a, second]), snapshotWith([b, second], [moved, other, plain])), expected);
  const gone = { keys: [null, "of-b", "secret"], added: 0, removed: 1 };
  assert.deepEqual(changed(snapshotWith([a, second]), snapshotWith([b, second], [other, plain])), gone);
});

test("a plugin that refers to a vault that does not exist answers 503, and the reason names the vault", () => {
  const route = routeNamed("r");
  const runtime = compile(null, snapshotOfEntities({ plugins: [mine], routes: [route] }), tools);
  const [step] = runtime.compiledRoute(route.id)?.chains.http.base.steps ?? [];
  const answer = step?.phases.access?.(fakeExchange());
  assert.partialDeepStrictEqual(answer, { status: 503 });
  assert.match(JSON.stringify(answer), /config\.key: there is no vault with the prefix mine: create it/);
});
