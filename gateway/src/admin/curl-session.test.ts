/** A first session with curl: creates a service, a route, plugins, a consumer and its key. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type AdminRig, startAdminRig } from "./testing.ts";

const curl = [
  ["User-Agent", "curl/8.5.0"],
  ["Accept", "*/*"],
] as const;

interface Step {
  readonly does: string;
  readonly path: string;
  readonly form: string;
  readonly has: object;
  /** Kinds of the resources that the response waited for. */
  readonly waitsFor: string;
}

const steps: readonly Step[] = [
  {
    does: "registers a service by its url",
    path: "/services/",
    form: "name=example-service&url=http://httpbin.org/anything",
    has: { name: "example-service", protocol: "http", host: "httpbin.org", port: 80, path: "/anything", retries: 5 },
    waitsFor: "Service",
  },
  {
    does: "adds a route to the service",
    path: "/services/example-service/routes",
    form: "paths[]=/example",
    has: { paths: ["/example"], strip_path: true, protocols: ["http", "https"], name: null },
    waitsFor: "Route",
  },
  {
    does: "adds a route with several paths",
    path: "/services/example-service/routes",
    form: "paths[]=/one&paths[]=/two",
    has: { paths: ["/one", "/two"] },
    waitsFor: "Route",
  },
  {
    does: "enables rate limiting on the service",
    path: "/services/example-service/plugins",
    form: "name=rate-limiting&config.minute=5&config.hour=100&config.policy=local",
    has: { name: "rate-limiting", config: { minute: 5, hour: 100, policy: "local", second: null }, enabled: true },
    waitsFor: "Plugin",
  },
  {
    does: "enables API keys on the service",
    path: "/services/example-service/plugins",
    form: "name=key-auth",
    has: { name: "key-auth", config: { key_names: ["apikey"], hide_credentials: false } },
    waitsFor: "Plugin",
  },
  {
    does: "enables cors with one origin",
    path: "/services/example-service/plugins",
    form: "name=cors&config.origins=*",
    has: { name: "cors", config: { origins: ["*"], credentials: false } },
    waitsFor: "Plugin",
  },
  {
    does: "enables prometheus",
    path: "/services/example-service/plugins",
    form: "name=prometheus",
    has: { name: "prometheus", consumer: null, route: null },
    waitsFor: "Plugin",
  },
  {
    does: "creates a consumer",
    path: "/consumers/",
    form: "username=alice",
    has: { username: "alice", custom_id: null, tags: null },
    waitsFor: "Consumer",
  },
  {
    does: "assigns a key to the consumer",
    path: "/consumers/alice/key-auth/",
    form: "key=my-secret-key",
    has: { key: "my-secret-key", tags: null },
    waitsFor: "Secret, Consumer",
  },
];

describe("a first session with curl", () => {
  let rig: AdminRig;
  before(async () => {
    rig = await startAdminRig();
  });
  after(() => rig.close());

  test("shows that the gateway is running", async () => {
    const { status, body } = await rig.ask("GET", "/", { headers: curl });
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { version: "3.9.1", sluice: { product: "Sluice", version: "1.2.3" } });
  });

  for (const { does, path, form, has, waitsFor } of steps) {
    test(does, async () => {
      rig.waits.length = 0;
      const { status, body, headers } = await rig.ask("POST", path, { form, headers: curl });
      assert.equal(status, 201, JSON.stringify(body));
      assert.partialDeepStrictEqual(body, has);
      assert.equal(headers["content-type"], "application/json; charset=utf-8");
      assert.equal(headers["x-sluice-programmed"], "true");
      assert.deepEqual(
        rig.waits.map(({ resources }) => resources.map(({ kind }) => kind).join(", ")),
        [waitsFor],
      );
    });
  }

  test("writes custom resources, and writes the key only to a labelled Secret", async () => {
    const texts = async (kind: string) => {
      const folder = join(rig.directory, kind);
      return Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    };
    assert.equal((await texts("service")).length, 1);
    assert.equal((await texts("route")).length, 2);
    assert.equal((await texts("plugin")).length, 4);
    const [consumer = ""] = await texts("consumer");
    assert.match(consumer, /username: alice/);
    assert.doesNotMatch(consumer, /my-secret-key/);
    const [secret = ""] = await texts("secret");
    assert.match(secret, /sluice\.dev\/credential: key-auth/);
    assert.match(secret, new RegExp(Buffer.from("my-secret-key").toString("base64")));
  });
});
