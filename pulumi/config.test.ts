import assert from "node:assert/strict";
import { test } from "node:test";
import { Config, isSecret, RunError, runtime } from "@pulumi/pulumi";
import { loadConfig, type StackConfig } from "./config.ts";
import { known } from "./testing.ts";

const good = {
  namespace: "shop",
  userApiUrl: "http://users.shop.svc:4000",
  requestsPerMinute: "60",
  demoKey: "s3cret",
};

function load(values: Readonly<Record<string, string>>): StackConfig {
  runtime.setAllConfig(Object.fromEntries(Object.entries(values).map(([name, value]) => [`sluice:${name}`, value])));
  return loadConfig(new Config("sluice"), "staging");
}

const faultsOf = (values: Readonly<Record<string, string>>): readonly string[] => {
  try {
    load(values);
    return [];
  } catch (error) {
    assert.ok(RunError.isInstance(error), "a RunError is shown without a stack trace");
    const [head, ...faults] = error.message.split("\n");
    assert.equal(head, "The config of stack staging has faults:");
    return faults.map((fault) => fault.trim());
  }
};

test("a good config is read with its types, the key as a secret", async () => {
  const config = load(good);
  assert.ok(config.creates === "users");
  const { demoKey, ...plain } = config;
  assert.deepEqual(plain, {
    creates: "users",
    namespace: "shop",
    userApiUrl: "http://users.shop.svc:4000",
    requestsPerMinute: 60,
  });
  assert.equal(await isSecret(demoKey), true);
  assert.equal(await known(demoKey), "s3cret");
});

test("a stack of CRDs needs no other key", () => {
  assert.deepEqual(load({ creates: "crds" }), { creates: "crds" });
});

test("an empty config is told key by key, with the command that sets each", () => {
  const set = "Set it: pulumi config set --stack staging";
  assert.deepEqual(faultsOf({}), [
    `sluice:namespace: expected the name of a namespace, but it is not set. ${set} sluice:namespace default`,
    `sluice:userApiUrl: expected a URL, but it is not set. ${set} sluice:userApiUrl http://users.default.svc:4000`,
    `sluice:requestsPerMinute: expected a whole number from 1 on, but it is not set. ${set} sluice:requestsPerMinute 60`,
    `sluice:demoKey: expected the API key of the consumer demo, as a secret, but it is not set. ${set} --secret sluice:demoKey`,
  ]);
});

for (const { key, value, fault } of [
  { key: "creates", value: "pods", fault: "sluice:creates: expected users or crds, not 'pods'" },
  { key: "namespace", value: "Shop", fault: "sluice:namespace: expected the name of a namespace, not 'Shop'" },
  { key: "userApiUrl", value: "users:4000", fault: "sluice:userApiUrl: expected a URL, not 'users:4000'" },
  { key: "userApiUrl", value: "http://", fault: "sluice:userApiUrl: expected a URL, not 'http://'" },
  ...["0", "-1", "1.5", "many", "1e3", ""].map((value) => ({
    key: "requestsPerMinute",
    value,
    fault: `sluice:requestsPerMinute: expected a whole number from 1 on, not '${value}'`,
  })),
  {
    key: "demoKey",
    value: " ",
    fault: "sluice:demoKey: expected the API key of the consumer demo, as a secret, but it is empty",
  },
]) {
  test(`${key} '${value}' is refused`, () => {
    const [found, ...others] = faultsOf({ ...good, [key]: value });
    assert.equal(found?.split(". Set it")[0], fault);
    assert.deepEqual(others, []);
  });
}
