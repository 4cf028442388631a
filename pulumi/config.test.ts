import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Config, isSecret, RunError, runtime } from "@pulumi/pulumi";
import { parse } from "yaml";
import { loadConfig, type SluiceConfig } from "./config.ts";
import { outputValue } from "./testing.ts";

type Texts = Readonly<Record<string, string>>;

const secretKeys = ["sluice:consumerKey", "sluice:databaseUrl", "sluice:redisPassword"];

/** Loads `values` as Pulumi passes them: maps and lists as JSON, and a separate list of the keys with secret values. */
function load(values: Texts, secrets: readonly string[] = secretKeys) {
  const config = Object.fromEntries(Object.entries(values).map(([name, value]) => [`sluice:${name}`, value]));
  runtime.setAllConfig(config, [...secrets]);
  return loadConfig(new Config("sluice"), "staging");
}

function loaded(values: Texts): SluiceConfig {
  const config = load(values);
  assert.ok(config.creates === "sluice");
  return config;
}

const faultsOf = (values: Texts, secrets?: readonly string[]): readonly string[] => {
  try {
    load(values, secrets);
    return [];
  } catch (error) {
    assert.ok(RunError.isInstance(error), "a RunError is shown without a stack trace");
    const [head, ...faults] = error.message.split("\n");
    assert.equal(head, "The config of stack staging has faults:");
    return faults.map((fault) => fault.trim());
  }
};

test("only the key namespace is required: all other keys are optional, and the chart's values have defaults", () => {
  const { release, ownNamespace, isPublic, timeout } = loaded({ namespace: "shop" });
  assert.deepEqual([release.name, release.namespace, release.version], ["sluice", "shop", "0.1.0"]);
  assert.equal(release.values.gateway.replicas, 2);
  assert.deepEqual([ownNamespace, isPublic], [true, false]);
  assert.deepEqual([timeout, loaded({ namespace: "shop", timeout: "90s" }).timeout], [undefined, "90s"]);
});

test("missing values, even in nested maps, get the chart's defaults", () => {
  const { release } = loaded({
    namespace: "shop",
    name: "edge",
    class: "shops",
    namespaces: '["a","b"]',
    gateway: '{"replicas":5,"resources":{"limits":{"memory":"1Gi"}}}',
  });
  assert.equal(release.name, "edge");
  assert.deepEqual(release.values.namespaces, ["a", "b"]);
  assert.equal(release.values.class, "shops");
  assert.equal(release.values.gateway.replicas, 5);
  assert.deepEqual(release.values.gateway.resources, {
    requests: { cpu: "100m", memory: "192Mi" },
    limits: { memory: "1Gi" },
  });
});

test("secrets in the config stay secrets, and the values name the Secrets that will hold them", async () => {
  const secrets = {
    databaseUrl: "postgres://users:pass@db.example/users",
    redisPassword: "letters1",
    consumerKey: "0123456789abcdef",
  };
  const config = loaded({ namespace: "shop", name: "edge", redis: '{"host":"redis.example"}', ...secrets });
  for (const [name, text] of Object.entries(secrets)) {
    const secret = config[name as keyof typeof secrets];
    assert.ok(secret !== undefined);
    assert.equal(await isSecret(secret), true);
    assert.equal(await outputValue(secret), text);
  }
  assert.equal(config.release.values.postgres.existingSecret, "edge-given-database");
  assert.equal(config.release.values.redis.existingSecret, "edge-given-redis");
});

test("a stack that creates the CRDs needs no key except creates", () => {
  assert.deepEqual(load({ creates: "crds" }), { creates: "crds" });
});

test("a missing value is reported with the command that sets it", () => {
  assert.deepEqual(faultsOf({}), [
    "sluice:namespace: expected the name of a namespace, but it is not set. " +
      "Set it: pulumi config set --stack staging sluice:namespace sluice",
  ]);
});

test("a secret in clear text is refused, and the message does not contain it", () => {
  const values = { namespace: "shop", databaseUrl: "postgres://users:pass@db.example/users" };
  assert.deepEqual(faultsOf(values, []), [
    "sluice:databaseUrl: expected postgres://user:password@host:port/database, as a secret, " +
      "but it is in clear text in the stack's file. " +
      "Set it: pulumi config set --stack staging --secret sluice:databaseUrl",
  ]);
});

test("a key for which no value is valid is reported with the command that removes it", () => {
  assert.deepEqual(faultsOf({ namespace: "shop", labels: '{"app.kubernetes.io/name":"a"}' }), [
    `sluice:labels["app.kubernetes.io/name"]: this label is the chart's own: other objects rely on it. ` +
      `Remove it: pulumi config rm --stack staging --path 'sluice:labels["app.kubernetes.io/name"]'`,
  ]);
});

test("all errors are reported together", () => {
  const faults = faultsOf({ namespace: "Shop", ownNamespace: "yes", gateway: '{"replicas":-1,"replcas":2}' });
  assert.deepEqual(
    faults.map((fault) => fault.split(/\. (?:Set|Remove) it: /)[0]),
    [
      "sluice:namespace: expected the name of a namespace, not 'Shop'",
      "sluice:ownNamespace: expected true or false, not 'yes'",
      "sluice:gateway.replcas: there is no such value",
      "sluice:gateway.replicas: must be >= 0, not -1",
    ],
  );
});

for (const { values, fault } of [
  { values: { creates: "pods" }, fault: "sluice:creates: expected sluice or crds, not 'pods'" },
  { values: { timeout: "soon" }, fault: "sluice:timeout: expected a time such as 90s or 10m, not 'soon'" },
  { values: { gatway: "{}" }, fault: "sluice:gatway: there is no such value" },
  { values: { gateway: '{"replicas":"2"}' }, fault: 'sluice:gateway.replicas: must be integer, not "2"' },
  { values: { gateway: "many" }, fault: 'sluice:gateway: must be object, not "many"' },
  {
    values: { logLevel: "loud" },
    fault: 'sluice:logLevel: must be equal to one of the allowed values (debug, info, warn, error), not "loud"',
  },
  {
    values: { userApi: '{"replicas":2}' },
    fault:
      "sluice:userApi.replicas: more than one replica requires a Postgres server: set postgres.enabled or postgres.existingSecret",
  },
  {
    values: { redis: '{"enabled":true,"host":"redis.example"}' },
    fault: "sluice:redis.host: set this or redis.enabled, not both",
  },
  {
    values: { gateway: '{"autoscaling":{"enabled":true,"minReplicas":5,"maxReplicas":2}}' },
    fault: "sluice:gateway.autoscaling.minReplicas: must be at most maxReplicas (2), not 5",
  },
  {
    values: { databaseUrl: "mysql://secret@db/users" },
    fault:
      "sluice:databaseUrl: expected postgres://user:password@host:port/database, as a secret, but its value has another form",
  },
  {
    values: { consumerKey: "short" },
    fault:
      "sluice:consumerKey: expected an API key of at least 16 characters, as a secret, but its value has another form",
  },
]) {
  test(`the config ${JSON.stringify(values)} is refused`, () => {
    const [found, ...others] = faultsOf({ namespace: "shop", ...values });
    assert.equal(found?.split(/\. (?:Set|Remove) it/)[0], fault);
    assert.deepEqual(others, []);
  });
}

test("the stack prod, which is public, has NetworkPolicies", () => {
  const { config } = parse(readFileSync(new URL("Pulumi.prod.yaml", import.meta.url), "utf8"));
  assert.deepEqual([config["sluice:public"], config["sluice:networkPolicies"]], [true, { enabled: true }]);
});
