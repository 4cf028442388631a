import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConfig, checkEntity } from "@sluice/model";
import { pluginsByName } from "../../../test/plugins/fake-exchange.ts";
import { withVaultValues } from "./vault-values.ts";

const environment = {
  allowed: ["TOKEN", "APP_*"],
  variables: {
    TOKEN: "t0ken",
    APP_LOG: "https://log.test/x",
    APP_JSON: '{"user": "ann", "port": 1}',
    APP_EMPTY: "",
    APP_LONG: "x".repeat(4097),
    APP_NO_URL: "ftp://s3cret",
    OTHER: "s3cret",
  },
};

const vaults = new Map(
  [{ prefix: "my-app", config: { prefix: "app-" } }, { prefix: "bare" }].map((members) => {
    const { value } = checkEntity("vaults", { name: "env", ...members });
    return [members.prefix, value ?? assert.fail()];
  }),
);

function configWith(members: object) {
  const plugin = pluginsByName.get("http-log") ?? assert.fail();
  const { value } = checkConfig("http-log", { http_endpoint: "http://a.test", ...members });
  assert.ok(value);
  return {
    config: value,
    replaced: () => withVaultValues(plugin, value, { environment, vaultAt: (prefix) => vaults.get(prefix) }),
  };
}

test("a config gets the values of allowed environment variables in place of references", () => {
  const headers = { a: "{vault://env/token}", b: "{vault://env/app-json/user}", c: "TOKEN" };
  const { config, replaced } = configWith({ http_endpoint: "{vault://env/log?prefix=app_}", headers });
  const expected = { http_endpoint: "https://log.test/x", headers: { a: "t0ken", b: "ann", c: "TOKEN" } };
  assert.deepEqual(replaced(), { ...config, ...expected });
  assert.deepEqual(config.headers, headers);
});

test("a reference to a vault uses the prefix in the vault's config, unless the reference has a prefix of its own", () => {
  const headers = {
    a: "{vault://my-app/json/user}",
    b: "{vault://bare/token}",
    c: "{vault://bare/log?prefix=app_}",
    d: "{vault://my-app/token?prefix=}",
  };
  const { config, replaced } = configWith({ headers });
  const expected = { a: "ann", b: "t0ken", c: "https://log.test/x", d: "t0ken" };
  assert.deepEqual(replaced(), { ...config, headers: expected });
});

test("a plugin's check may return nothing, or a generator", () => {
  const { config } = configWith({ http_endpoint: "{vault://env/app-log}" });
  const plugin = pluginsByName.get("http-log") ?? assert.fail();
  for (const found of [undefined, new Set().values()]) {
    const { http_endpoint } = withVaultValues({ ...plugin, check: () => found as never }, config, {
      environment,
      vaultAt: () => undefined,
    });
    assert.equal(http_endpoint, "https://log.test/x");
  }
});

test("a config without references stays the same object", () => {
  const { config, replaced } = configWith({ headers: { a: "t" } });
  assert.equal(replaced(), config);
});

const faults: readonly (readonly [what: string, members: object, message: string])[] = [
  [
    "names a vault that does not exist",
    { headers: { a: "{vault://my-apps/token}" } },
    "config.headers.a: there is no vault with the prefix my-apps: create it, or refer to env instead",
  ],
  [
    "to a vault names a variable that SLUICE_VAULT_ENV does not allow",
    { headers: { a: "{vault://bare/other}" } },
    "config.headers.a: add OTHER to SLUICE_VAULT_ENV, which names the variables that references may read",
  ],
  [
    "names a variable that SLUICE_VAULT_ENV does not allow",
    { headers: { a: "{vault://env/other}" } },
    "config.headers.a: add OTHER to SLUICE_VAULT_ENV, which names the variables that references may read",
  ],
  [
    "names a variable that is not set",
    { headers: { a: "{vault://env/app-none}" } },
    "config.headers.a: the environment variable APP_NONE is not set",
  ],
  [
    "names a member that the JSON object does not have",
    { headers: { a: "{vault://env/app-json/password}" } },
    "config.headers.a: the environment variable APP_JSON must contain a JSON object with the string member password",
  ],
  [
    "names a member that is not a string",
    { headers: { a: "{vault://env/app-json/port}" } },
    "config.headers.a: the environment variable APP_JSON must contain a JSON object with the string member port",
  ],
  [
    "names a member of a variable without JSON",
    { headers: { a: "{vault://env/token/x}" } },
    "config.headers.a: the environment variable TOKEN must contain a JSON object with the string member x",
  ],
  [
    "has an empty value for a member that must not be empty",
    { http_endpoint: "{vault://env/app-empty}" },
    "config.http_endpoint: {vault://env/app-empty} has a value of 0 characters; expected at least 1, at most 4096",
  ],
  [
    "has a value that is too long",
    { http_endpoint: "{vault://env/app-long}" },
    "config.http_endpoint: {vault://env/app-long} has a value of 4097 characters; expected at least 1, at most 4096",
  ],
  [
    "has a value that the plugin refuses, and the message does not contain the value",
    { http_endpoint: "{vault://env/app-no-url}" },
    "config.http_endpoint: {vault://env/app-no-url} has a value that is not valid here",
  ],
];
for (const [what, members, message] of faults)
  test(`a config is refused if a reference ${what}`, () => {
    assert.throws(configWith(members).replaced, { message });
  });
