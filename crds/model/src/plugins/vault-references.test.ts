import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConfig } from "../check/index.ts";
import { parseVaultReference, variableOf, vaultPrefixesOf } from "./vault-references.ts";

const named: readonly (readonly [text: string, variable: string, key: string | null])[] = [
  ["{vault://env/SECRET}", "SECRET", null],
  ["{vault://env/my-secret}", "MY_SECRET", null],
  ["{vault://env/my_secret?prefix=app-}", "APP_MY_SECRET", null],
  ["{vault://env/redis/password}", "REDIS", "password"],
  ["{vault://env/redis/pass%2Fword}", "REDIS", "pass/word"],
  ["{vault://my-env/1/password}", "VAULT_1", "password"],
  ["{vault://my-env/x?prefix=app_}", "APP_X", null],
];
for (const [text, variable, key] of named)
  test(`${text} names ${key === null ? "" : `the member ${key} of `}the environment variable ${variable}`, () => {
    const { value } = parseVaultReference(text);
    assert.ok(value);
    const vault = value.vault === "env" ? undefined : { config: { prefix: "vault-" } };
    assert.deepEqual([variableOf(value, vault), value.key], [variable, key]);
  });

test("vaultPrefixesOf returns each prefix of a vault once, and no kinds of vaults", () => {
  const texts = ["{vault://b/x}", "{vault://my-env/x}", "{vault://env/y}", "{vault://my-env/y}", "{vault://my-env}"];
  assert.deepEqual(vaultPrefixesOf(texts.map((text) => ({ text }))), ["my-env"]);
});

const refused: readonly string[] = [
  "{vault://env}",
  "{vault://env/}",
  "{vault://env/a/}",
  "{vault://env/a/b/c}",
  "{vault://env/a?ttl=1}",
  "{vault://env/a#2}",
  "{vault://env/a%zz}",
  "{vault://env/1}",
  "{vault://[/a}",
  "{vault:///a}",
  "{vault://my-env-/a}",
  "{vault://My-env/a}",
  "{vault://my-env/a.b}",
  "{vault://my-env/a?prefix=/}",
];
for (const text of refused)
  test(`${text} is refused, with the path of the config's member that contains the reference`, () => {
    const { violations } = checkConfig("http-log", { http_endpoint: "http://a.test", headers: { "x-token": text } });
    const message =
      "expected a reference such as {vault://env/NAME}, or {vault://env/NAME/member} for a JSON object, with env or " +
      "the prefix of a vault";
    assert.deepEqual(violations, [{ path: ["headers", "x-token"], message }]);
  });

const configs: readonly (readonly [what: string, plugin: string, config: object])[] = [
  ["a URL", "http-log", { http_endpoint: "{vault://env/LOG_SERVER}" }],
  ["a value that otherwise must not have braces", "loggly", { key: "{vault://env/LOGGLY}" }],
  ["the URL of traces in its deprecated spelling", "opentelemetry", { endpoint: "{vault://env/TRACES}" }],
  [
    "a user name and a password of Redis",
    "rate-limiting",
    {
      minute: 1,
      redis: { username: "{vault://env/USER}", password: "{vault://env/PASSWORD}" },
    },
  ],
  [
    "the client's id and secret, which are lists",
    "openid-connect",
    {
      issuer: "https://id.test",
      auth_methods: ["bearer"],
      client_id: ["{vault://env/ID}"],
      client_secret: "{vault://env/SECRET}",
    },
  ],
  ["the secret of cookies", "session", { secret: "{vault://env/SECRET}" }],
  ["the secret of webhooks", "standard-webhooks", { secret_v1: "{vault://env/SECRET}" }],
];
for (const [what, plugin, config] of configs)
  test(`the config of ${plugin} may have a reference for ${what}, and keeps it`, () => {
    const { value, violations } = checkConfig(plugin, config);
    assert.equal(violations, undefined);
    assert.match(JSON.stringify(value), /\{vault:\/\/env\//);
  });

test("a reference in a member that is not referenceable is checked like any other value", () => {
  const { violations } = checkConfig("rate-limiting", { minute: 1, redis: { host: "{vault://env/HOST}" } });
  assert.deepEqual(
    violations?.map(({ path }) => path),
    [["redis", "host"]],
  );
});
