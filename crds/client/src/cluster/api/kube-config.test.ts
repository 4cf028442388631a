import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const script = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load: (url, context, nextLoad) => (loaded.push(url), nextLoad(url, context)) });
  const { KubeConfig } = await import(${JSON.stringify(new URL("./kube-config.ts", import.meta.url).href)});
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server: "https://127.0.0.1:1" }, { name: "u", token: "secret" });
  const options = {};
  await config.applyToHTTPSOptions(options);
  const generated = loaded.filter((url) => url.includes("/client-node/dist/gen/"));
  console.log(JSON.stringify({ authorization: options.headers.Authorization, generated: generated.length }));
`;

test("credentials are read without loading the clients of every Kubernetes kind", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  const { authorization, generated } = JSON.parse(stdout);
  assert.equal(authorization, "Bearer secret");
  assert.ok(generated < 40, `${generated} generated modules were loaded`);
});
