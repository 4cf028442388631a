/** `sluice-operator crds` against the real API server: first installation, upgrade, downgrade. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { createClusterObjects } from "@sluice/crds";
import { crdNames } from "@sluice/model";
import { parseAllDocuments } from "yaml";
import { crdsCommand } from "../../../operator/src/commands/crds.ts";
import { builtProgram } from "../../../tools/build/programs.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { resourceObject } from "../resources.ts";

const main = await builtProgram("operator");

let plane: ControlPlane;
before(async () => {
  plane = await startControlPlane();
});
after(() => plane?.stop());

interface Outcome {
  readonly code: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

/** Runs `crds apply` in this process. */
async function apply(kubeconfig = plane.kubeconfig): Promise<Outcome> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await crdsCommand("apply", {
    connect: () => createClusterObjects({ kubeconfig }),
    print: (line) => out.push(line),
    warn: (line) => err.push(line),
  }).catch((error: Error) => {
    err.push(error.message);
    return 1;
  });
  return { code, out, err };
}

function run(args: readonly string[]): Promise<Outcome> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, KUBECONFIG: plane.kubeconfig };
  const lines = (text: string) => text.split("\n").filter((line) => line !== "");
  return new Promise((resolve) => {
    execFile(main, args, { env, maxBuffer: 1 << 24 }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), out: lines(stdout), err: lines(stderr) }),
    );
  });
}

/** Changes the first entry of `versions` in the CRD of Routes, as another version of Sluice would. */
async function patchRoutes(
  ...operations: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[]
) {
  const patch = operations.map(({ path, ...operation }) => ({ ...operation, path: `/spec/versions/0/${path}` }));
  await plane.kubectl(["patch", "crd", "routes.sluice.dev", "--type=json", "-p", JSON.stringify(patch)]);
}
const member = (name: string) => `schema/openAPIV3Schema/properties/spec/properties/${name}`;
const spec = () => plane.kubectl(["get", "crd", "routes.sluice.dev", "-o", "jsonpath={.spec}"]);

test("the first apply creates all definitions and returns when their kinds are served", async () => {
  const { code, out, err } = await run(["crds", "apply"]);
  assert.deepEqual([code, err], [0, []]);
  assert.deepEqual(out, [...crdNames.map((name) => `${name} created`), "all CRDs are served"]);
  await plane.kubectl(["create", "-f", "-"], JSON.stringify(resourceObject("Route", "kept", { paths: ["/kept"] })));
});

test("a second apply changes nothing", async () => {
  const { code, out } = await apply();
  assert.deepEqual([code, out], [0, [...crdNames.map((name) => `${name} unchanged`), "all CRDs are served"]]);
});

test("an older definition is upgraded, whichever manager wrote the definition, and resources remain", async () => {
  const before = await spec();
  await patchRoutes(
    { op: "remove", path: member("pathHandling") },
    { op: "replace", path: `${member("paths")}/maxItems`, value: 3 },
  );
  assert.notEqual(await spec(), before);
  const { code, out } = await apply();
  assert.deepEqual(
    [code, out.filter((line) => !line.endsWith("unchanged"))],
    [0, ["routes.sluice.dev changed", "all CRDs are served"]],
  );
  assert.equal(await spec(), before);
  assert.match(await plane.kubectl(["get", "gwroute", "kept"]), /kept/);
});

test("a newer definition is not downgraded: the fields that would be lost are named, and no definition is applied", async () => {
  await plane.kubectl([
    "patch",
    "crd",
    "plugins.sluice.dev",
    "--type=json",
    "-p",
    JSON.stringify([{ op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema/description", value: "other" }]),
  ]);
  await patchRoutes(
    { op: "add", path: member("mirror"), value: { type: "object", properties: { to: { type: "string" } } } },
    { op: "add", path: `${member("serviceRef")}/properties/weight`, value: { type: "integer" } },
  );
  const before = await spec();
  const { code, out, err } = await apply();
  assert.deepEqual([code, out], [3, []]);
  assert.deepEqual(err.slice(1, 3), ["  spec.mirror", "  spec.serviceRef.weight"]);
  assert.match(err[0] ?? "", /^routes\.sluice\.dev: .*resources would lose them:/);
  assert.match(err.at(-1) ?? "", /nothing was applied/);
  assert.equal(await spec(), before);
  const description = "jsonpath={.spec.versions[0].schema.openAPIV3Schema.description}";
  assert.equal(await plane.kubectl(["get", "crd", "plugins.sluice.dev", "-o", description]), "other");
  await patchRoutes(
    { op: "remove", path: member("mirror") },
    { op: "remove", path: `${member("serviceRef")}/properties/weight` },
  );
  assert.equal((await apply()).code, 0);
});

test("the error for a user without rights to definitions contains the missing verb", async () => {
  const { code, err } = await apply(await plane.kubeconfigFor("nobody"));
  assert.equal(code, 1);
  assert.match(err.join("\n"), /User "nobody" cannot get resource "customresourcedefinitions"/);
});

test("print writes the definitions that apply applies", async () => {
  const { code, out } = await run(["crds", "print"]);
  assert.equal(code, 0);
  const printed = parseAllDocuments(out.join("\n")).map((document) => document.toJS());
  assert.deepEqual(
    printed.map(({ metadata }) => metadata.name),
    crdNames,
  );
  assert.match(await plane.kubectl(["diff", "--server-side", "--force-conflicts", "-f", "-"], out.join("\n")), /^$/);
});

test("an unknown command is refused with a reference to --help", async () => {
  const { code, err } = await run(["frobnicate"]);
  assert.equal(code, 2);
  assert.match(err.join("\n"), /unknown command 'frobnicate'\nTry 'sluice-operator --help'/);
});
