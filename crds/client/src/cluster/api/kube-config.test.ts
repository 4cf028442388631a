import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

/** The result of a script in a process of its own. In it, `loaded` lists the URLs of the modules loaded so far. */
async function run(script: string): Promise<unknown> {
  const text = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, nextLoad) => (loaded.push(url), nextLoad(url, context)) });
    ${script}
    console.log(JSON.stringify(result));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", text]);
  return JSON.parse(stdout);
}

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

test("credentials are read without loading the clients of every Kubernetes kind", async () => {
  const { authorization, generated } = (await run(`
    const { createKubeConfig } = await import(${urlOf("./kube-config.ts")});
    const config = createKubeConfig();
    config.loadFromClusterAndUser({ name: "c", server: "https://127.0.0.1:1" }, { name: "u", token: "secret" });
    const options = {};
    await config.applyToHTTPSOptions(options);
    const generated = loaded.filter((url) => url.includes("/client-node/dist/gen/")).length;
    const result = { authorization: options.headers.Authorization, generated };
  `)) as { readonly authorization: string; readonly generated: number };
  assert.equal(authorization, "Bearer secret");
  assert.ok(generated > 0 && generated < 40, `${generated} generated modules were loaded`);
});

test("without a connection to a cluster, neither client-node nor undici is loaded", async () => {
  const result = await run(`
    await import(${urlOf("../../index.ts")});
    const result = loaded.filter((url) => /\\/node_modules\\/(@kubernetes|undici)\\//.test(url));
  `);
  assert.deepEqual(result, []);
});
