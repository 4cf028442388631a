/** A user's plugin in the release: the tutorial's plugin is packed for npm and put into an image that the pods use. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { pluginTemplate } from "../../../gateway/src/commands/plugin/template.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { writeArchive } from "../../../tools/images/archive/oci.ts";
import { pluginImage } from "../../../tools/images/contents/plugin-image.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { allAnswered, type CallerLoad, chartLoadText } from "./chart-load.ts";
import { type ChartScene, minutes, proxy, releaseNamespace } from "./chart-scene.ts";
import { charts, release } from "./helm.ts";
import { keptAtATime } from "./load.ts";

const name = "opening-hours";

/** A Route that the plugin closes at some hours. The Plugin comes first, so that the Route is never without it. */
const resources = (config: string) => `
apiVersion: sluice.dev/v1alpha1
kind: Plugin
metadata: { name: ${name} }
spec: { plugin: ${name}, config: ${config}, targetRefs: [{ kind: Route, name: hours }] }
---
apiVersion: sluice.dev/v1alpha1
kind: Route
metadata: { name: hours }
spec: { serviceRef: { name: theirs }, paths: [/hours] }
`;

const always = "{ from: 0, until: 24 }";
/** Opening hours that do not contain the present time, even if the next hour begins during the test. */
const closedNow = (): string => (new Date().getUTCHours() < 12 ? "{ from: 14, until: 22 }" : "{ from: 1, until: 11 }");

interface PluginStatus {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

export function pluginImages(scene: () => ChartScene): void {
  const asked = () => scene().statusOf("/hours/healthz");
  const apply = (config: string) =>
    scene().cluster.kubectl(["apply", "--namespace", releaseNamespace, "--filename", "-"], resources(config));
  const reasonOf = async (type: string): Promise<string | undefined> => {
    const text = await scene().kubectl("get", `plugins.sluice.dev/${name}`, "--output=json");
    return (JSON.parse(text) as PluginStatus).status?.conditions?.find((one) => one.type === type)?.reason;
  };
  const rolledOut = (part: string) =>
    scene().kubectl("rollout", "status", `deployment/${release}-${part}`, "--timeout=2m");

  test("a route with a plugin from an image answers 503 until the nodes have the plugin, and the rollout fails no request of another route", {
    timeout: 4 * minutes,
  }, async (t) => {
    const { callers, helm, kubectl, podsOf, secret, statusOf } = scene();
    const reference = await importPlugin(scene());
    await apply(always);
    await waitFor(async () => (await reasonOf("Accepted")) === "Invalid", { what: "the plugin to be unknown" });
    await waitFor(async () => (await asked()) === 503, { what: "the route to be closed" });

    await callers.serve();
    await waitFor(async () => (await statusOf("/slow")) === 200, { what: "another route to be served" });
    let load: CallerLoad;
    const endLoad = await callers.load({ url: `${proxy}/slow?takes=20`, headers: {}, every: 50 });
    try {
      // Without this pause, the nodes might be replaced before the operator, and the condition might not be seen.
      await kubectl("rollout", "pause", `deployment/${release}-gateway`);
      await helm("upgrade", release, charts.sluice, "--reuse-values", "--set", `plugins.images={${reference}}`);
      await rolledOut("operator");
      await waitFor(async () => (await reasonOf("Programmed")) === "PluginMissing", {
        what: "the nodes to be reported",
        timeout: 60_000,
      });
      assert.equal(await reasonOf("Accepted"), "Accepted");
      assert.equal(await asked(), 503);
      await kubectl("rollout", "resume", `deployment/${release}-gateway`);
      await rolledOut("gateway");
      await waitFor(async () => (await podsOf("gateway")).length === 2, {
        what: "two nodes, and the old nodes to be removed",
        timeout: 60_000,
        interval: 500,
      });
      await waitFor(async () => (await reasonOf("Programmed")) === "Programmed", {
        what: "all nodes to have the plugin",
      });
    } finally {
      load = await endLoad();
    }
    t.diagnostic(chartLoadText(load));
    allAnswered(load, { connectionsEnded: 2 * keptAtATime, meanwhile: "the nodes were replaced" });
    for (let times = 0; times < 4; times++) assert.equal(await asked(), 200);

    await apply(closedNow());
    await waitFor(async () => (await asked()) === 403, { what: "the new hours to take effect" });
    assert.match((await callers.ask(`${proxy}/hours/healthz`)).body, /Closed: open from/);
    await rolledOut("admin");
    const url = `http://${release}-admin.${releaseNamespace}.svc.cluster.local:8001/schemas/plugins/${name}`;
    const token = await secret(`${release}-admin`, "token");
    const schema = await callers.ask(url, { headers: { "kong-admin-token": token } });
    assert.match(schema.body, /The first closed hour \(UTC\)/);
    await kubectl("delete", "routes.sluice.dev/hours", `plugins.sluice.dev/${name}`);
  });
}

/** Packs the tutorial's plugin, imports an image of it into the Kubernetes node, and resolves to the image's name. */
async function importPlugin({ cluster }: ChartScene): Promise<string> {
  const folder = temporaryFolder("chart-plugins");
  try {
    const page = readFileSync(join(repositoryRoot, "docs/tutorials/your-first-plugin.md"), "utf8");
    mkdirSync(join(folder.path, "build"));
    writeFileSync(join(folder.path, "package.json"), String(pluginTemplate(name)["package.json"]));
    for (const module of ["schema", "index"]) {
      const [, text] = page.split(`Replace \`${module}.ts\` with:\n\n\`\`\`ts\n`);
      const [source = ""] = String(text).split("```");
      const script = stripTypeScriptTypes(source).replaceAll('.ts"', '.js"');
      writeFileSync(join(folder.path, `build/${module}.js`), script);
    }
    const { stdout } = await promisify(execFile)("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: folder.path });
    const file = stdout.trim();
    const guide = readFileSync(join(repositoryRoot, "docs/how-to/run-plugins-in-kubernetes.md"), "utf8");
    const [, dockerfile = ""] = /^```Dockerfile\n(.*?)^```$/ms.exec(guide) ?? [];
    // `pluginImage` builds the same image as this Dockerfile.
    assert.match(dockerfile, /^FROM busybox:\S+\nADD \S+ \/\n$/);
    assert.ok(dockerfile.includes(`ADD ${file} /`), `${file} is not in\n${dockerfile}`);
    const image = pluginImage(`docker.io/acme/sluice-plugin-${name}`, join(folder.path, file));
    const archive = join(folder.path, "image.tar");
    writeArchive(archive, [image]);
    await cluster.importImage(archive);
    return image.name;
  } finally {
    folder.remove();
  }
}
