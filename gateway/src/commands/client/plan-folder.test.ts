/** `sluice plan` of a file or folder with custom resources, and with objects that only an operator translates. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startClientRig } from "./testing-client.ts";

const own = (kind: string, name: string, spec: string) =>
  `apiVersion: sluice.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: default}\nspec: ${spec}\n`;
const other = (apiVersion: string, kind: string, name: string, spec: string) =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop}\nspec: ${spec}\n`;

const files = {
  "shop.yaml": [
    own("Service", "shop", "{url: http://shop.example}"),
    own("Route", "shop", "{serviceRef: {name: shop}, paths: [/shop]}"),
    own("Route", "elsewhere", "{class: other, serviceRef: {name: shop}, paths: [/elsewhere]}"),
    own(
      "Plugin",
      "cors",
      "{plugin: cors, targetRefs: [{kind: HTTPRoute, group: gateway.networking.k8s.io, name: web}]}",
    ),
  ].join("---\n"),
  "gateway.yaml": [
    other("gateway.networking.k8s.io/v1", "Gateway", "web", "{gatewayClassName: sluice, listeners: []}"),
    other("gateway.networking.k8s.io/v1", "HTTPRoute", "web", "{parentRefs: [{name: web}], rules: []}"),
  ].join("---\n"),
  "ingress.yaml": other("networking.k8s.io/v1", "Ingress", "web", "{ingressClassName: sluice, rules: []}"),
};

const json = JSON.stringify(
  {
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: { name: "shop", namespace: "default" },
    spec: { url: "http://shop.example" },
  },
  null,
  2,
);

for (const [what, text] of [
  ["YAML documents", `# Shop\n---\n${own("Service", "shop", "{url: http://shop.example}")}`],
  [
    "a YAML document whose kind comes first",
    own("Service", "shop", "{url: http://shop.example}").split("\n").sort().reverse().join("\n"),
  ],
  ["a JSON object", json],
] as const)
  test(`a plan of a file with custom resources, as ${what}, has their entities`, async (context) => {
    const rig = await startClientRig('_format_version: "3.0"\n');
    context.after(() => rig.close());
    const file = join(rig.folder, what.includes("JSON") ? "shop.json" : "shop.yaml");
    writeFileSync(file, text);
    const [code, plan] = await rig.run(["plan", "-f", file]);
    assert.equal(code, 0, plan);
    assert.match(plan, /^\+ services\/shop\n[\s\S]*\nPlan: 1 to create, 0 to change, 0 to delete\.\n/);
  });

test("a plan of a folder has the folder's entities, and names the resources that it leaves out; an invalid Route makes it fail", async (context) => {
  const rig = await startClientRig('_format_version: "3.0"\n');
  context.after(() => rig.close());
  const folder = join(rig.folder, "folder");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const [code, plan] = await rig.run(["plan", "-f", folder]);
  assert.equal(code, 0, plan);
  assert.match(
    plan,
    /^\+ services\/shop\n[\s\S]*\n\+ routes\/shop\n[\s\S]*\nPlan: 2 to create, 0 to change, 0 to delete\.\n/,
  );
  assert.deepEqual(rig.warnings, [
    "left out: Gateway shop/web (folder/gateway.yaml:1:1), HTTPRoute shop/web (folder/gateway.yaml:6:1), Ingress shop/web (folder/ingress.yaml:1:1): only the operator of a cluster translates these kinds; use kubectl to apply them",
    "left out: Route default/elsewhere (folder/shop.yaml:11:1): the class (spec.class) is not the value of SLUICE_CLASS",
    "left out: Plugin default/cors (folder/shop.yaml:16:1): a target is of a kind that only the operator of a cluster translates; use kubectl to apply them",
  ]);
  writeFileSync(
    join(folder, "bad.yaml"),
    own("Route", "bad", "{serviceRef: {name: gone}, paths: [shop], methods: [get]}"),
  );
  assert.deepEqual(await rig.run(["plan", "-f", folder]), [
    1,
    "folder cannot be converted:\n" +
      "folder/bad.yaml:4:21: spec.serviceRef.name: there is no Service gone in the namespace default\n" +
      "folder/bad.yaml:4:59: spec.methods[0]: invalid value: get\n" +
      "folder/bad.yaml:4:42: spec.paths[0]: should start with: / (fixed path) or ~/ (regex path)",
  ]);
});
