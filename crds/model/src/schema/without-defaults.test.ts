import assert from "node:assert/strict";
import { test } from "node:test";
import { pluginNamed } from "../plugins/index.ts";
import { withoutDefaults } from "./without-defaults.ts";

test("withoutDefaults drops unset members and, unless the previous config has the member, defaults at any depth", () => {
  const { schema } = pluginNamed("rate-limiting") ?? assert.fail();
  const config = { minute: 5, hour: null, policy: "local", redis: { host: null, port: 6379 } };
  assert.deepEqual(withoutDefaults(schema, config), { minute: 5 });
  assert.deepEqual(withoutDefaults(schema, { ...config, redis: { host: "r", port: 6379 } }, { redis: { port: 1 } }), {
    minute: 5,
    redis: { host: "r", port: 6379 },
  });
});
