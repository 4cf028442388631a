/** Files in the manner of public configurations of Kong: each loads, or is refused with exactly these sentences. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { describeViolation, loadText, pluginNames } from "@sluice/model";

const folder = join(import.meta.dirname, "files");

const known = `Sluice has ${pluginNames().toSorted().join(", ")}`;

interface Outcome {
  readonly warnings?: readonly string[];
  readonly faults?: readonly string[];
}

/** Outcomes by file name. Files that are not listed load without a warning. Sentences begin with line and column. */
const outcomes: Readonly<Record<string, Outcome>> = {
  "authorization-server.yml": {
    faults: [
      "10:13: services[0].routes[0].plugins[0].name: plugin 'oauth2' not enabled: let an authorization server issue tokens, and verify them with the plugin openid-connect",
      "15:13: services[0].routes[1].plugins[0].name: plugin 'aws-lambda' not enabled: give the function a function URL, and make it the url of the service",
      "19:5: consumers[0].oauth2_credentials: not supported: Sluice has no 'oauth2_credentials' yet",
    ],
  },
  "db-export.yml": { warnings: ["4:1: parameters: ignored: Kong keeps facts about its own cluster here"] },
  "deck-dump.yml": {
    warnings: ["6:1: _konnect: ignored: it tells decK which control plane of Konnect to use"],
  },
  "deck-workspace.yml": {
    warnings: [
      "3:1: _workspace: ignored: it tells decK which workspace to use, and Sluice has only one",
      "5:1: partials: ignored: Sluice has no 'partials' yet, and none are given",
      "6:1: key_sets: ignored: Sluice has no 'key_sets' yet, and none are given",
      "7:1: licenses: ignored: Sluice has no 'licenses' yet, and none are given",
    ],
  },
  "duplicate-keys.yml": {
    warnings: [
      "6:5: services[0].url: duplicate key: this value replaces the one at 5:5, which is ignored",
      "10:9: services[0].routes[0].paths: duplicate key: this value replaces the one at 9:9, which is ignored",
    ],
  },
  "group-overrides.yml": {
    faults: [
      "5:5: consumer_groups[1].consumer_group_plugins: not supported: write each entry as a plugin with consumer_group, as 'sluice migrate' does",
      "6:9: consumer_groups[1].consumer_group_plugins[0].name: plugin 'rate-limiting-advanced' not enabled: it belongs to Kong's paid editions; use rate-limiting",
      "8:1: consumer_group_plugins: not supported: write each entry as a plugin with consumer_group, as 'sluice migrate' does",
      "9:5: consumer_group_plugins[0].name: plugin 'rate-limiting-advanced' not enabled: it belongs to Kong's paid editions; use rate-limiting",
      "18:5: plugins[0].ordering: not supported: plugins run in the order of their priorities; leave it out, and attach a plugin of your own with another priority if the order matters",
      "21:5: keyauth_credentials[0].key: required field missing: write one, such as the output of 'openssl rand -hex 16'; Kong generates one that no client knows",
    ],
  },
  "language-models.yml": {
    faults: [
      "7:9: routes[0].plugins[0].name: plugin 'ai-proxy' not enabled: Sluice has no plugins for language models; let the service call the provider, or write a plugin (docs/how-to/write-middleware.md)",
      "12:9: routes[0].plugins[1].name: plugin 'ai-prompt-guard' not enabled: Sluice has no plugins for language models; let the service call the provider, or write a plugin (docs/how-to/write-middleware.md)",
    ],
  },
  "lua-functions.yml": {
    faults: [
      "8:9: services[0].plugins[0].name: plugin 'pre-function' not enabled: Sluice does not run Lua; write the function as a plugin in TypeScript, as docs/how-to/replace-lua-functions.md shows",
      "10:9: services[0].plugins[1].name: plugin 'post-function' not enabled: Sluice does not run Lua; write the function as a plugin in TypeScript, as docs/how-to/replace-lua-functions.md shows",
      "13:52: services[0].plugins[2].config.custom_fields_by_lua: Lua is not supported: change the fields in the log server, or in a plugin that calls exchange.setLogField(name, value) in its access phase",
    ],
  },
  "other-features.yml": {
    faults: [
      "3:12: vaults[0].name: vault 'hcv' is not installed: put the secret into an environment variable of the nodes and use a vault of the kind env, or use a Plugin resource with configFrom, which reads it from a Secret",
      "4:1: keys: not supported: Sluice has no 'keys' yet",
      "8:33: services[0].routes[0].paths[0]: not a valid regex: /a(?!b) (invalid or unsupported Perl syntax: `(?!`)",
      "9:5: services[0].filter_chains: not supported: Sluice has no 'filter_chains' yet",
    ],
  },
  "own-plugin.yml": {
    faults: [
      `4:5: plugins[0].name: plugin 'tenant-resolver' not enabled: ${known}; use one of these, or load a plugin of your own with SLUICE_PLUGINS`,
      `6:5: plugins[1].name: plugin 'rate-limitting' not enabled, did you mean rate-limiting? ${known}`,
    ],
  },
  "paid-plugins.yml": {
    faults: [
      "4:5: plugins[0].name: plugin 'rate-limiting-advanced' not enabled: it belongs to Kong's paid editions; use rate-limiting",
      "6:5: plugins[1].name: plugin 'request-transformer-advanced' not enabled: it belongs to Kong's paid editions; use request-transformer",
      "8:5: plugins[2].name: plugin 'opa' not enabled: it belongs to Kong's paid editions; write a plugin for the features that you use (docs/tutorials/your-first-plugin.md)",
    ],
  },
};

for (const name of readdirSync(folder)) {
  const { warnings = [], faults = [] } = outcomes[name] ?? {};
  test(`${name} is ${faults.length > 0 ? "refused" : "loaded"}`, () => {
    const { value, violations = [] } = loadText(readFileSync(join(folder, name), "utf8"));
    assert.deepEqual(violations.map(describeViolation), faults);
    assert.deepEqual((value?.warnings ?? []).map(describeViolation), warnings);
  });
}

const upgraded: readonly (readonly [route: string, paths: readonly string[]])[] = [
  ["item", ["~/items/(?<id>\\d+)$", "/items/all new", "/v1/items/"]],
  ["search", ["/search"]],
];

for (const [route, paths] of upgraded) {
  test(`the paths of the route ${route} in old-format.yml are upgraded to format 3.0`, () => {
    const { value } = loadText(readFileSync(join(folder, "old-format.yml"), "utf8"));
    const found = [...(value?.snapshot.routes.values() ?? [])].find(({ name }) => name === route);
    assert.deepEqual(found?.paths, paths);
  });
}

test("every listed file exists", () => {
  const names = readdirSync(folder);
  assert.deepEqual(
    Object.keys(outcomes).filter((name) => !names.includes(name)),
    [],
  );
});
