import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import { kindFacts, parameterKinds } from "../resources/index.ts";
import { crd } from "./crd.ts";
import { crdChartFiles, crdFiles } from "./files.ts";

type Plain = { readonly [member: string]: Plain };

const service = crd("Service", kindFacts.Service) as Plain;
const schema = service.spec?.versions?.[0]?.schema?.openAPIV3Schema;

test("a CRD has short names and a category", () => {
  assert.deepEqual(service.spec?.names, {
    kind: "Service",
    listKind: "ServiceList",
    plural: "services",
    singular: "service",
    shortNames: ["gwsvc"],
    categories: ["sluice"],
  });
  assert.equal(service.metadata?.name, "services.sluice.dev");
});

test("members have the model's descriptions and limits, and the description names the default", () => {
  assert.deepEqual(schema?.properties?.spec?.properties?.connectTimeout, {
    type: "integer",
    description: "Maximum milliseconds to wait for a connection to the upstream. Default: 60000.",
    minimum: 1,
    maximum: 2_147_483_646,
  });
});

test("a list is atomic unless it is a map by a key, and a plugin's config keeps unknown members", () => {
  const plugin = crd("Plugin", kindFacts.Plugin) as Plain;
  const members = plugin.spec?.versions?.[0]?.schema?.openAPIV3Schema?.properties?.spec?.properties;
  assert.equal(members?.tags?.["x-kubernetes-list-type"], "atomic");
  assert.equal(members?.targetRefs?.["x-kubernetes-list-type"], "map");
  assert.deepEqual(members?.targetRefs?.["x-kubernetes-list-map-keys"], ["kind"]);
  assert.equal(members?.config?.["x-kubernetes-preserve-unknown-fields"], true);
});

test("GatewayParameters has no status", () => {
  const version = (crd("GatewayParameters", parameterKinds.GatewayParameters) as Plain).spec?.versions?.[0];
  assert.equal(version?.subresources, undefined);
  assert.equal(version?.schema?.openAPIV3Schema?.properties?.status, undefined);
});

test("status is a subresource whose conditions are a map by type", () => {
  assert.deepEqual(service.spec?.versions?.[0]?.subresources, { status: {} });
  assert.deepEqual(schema?.properties?.status?.properties?.conditions?.["x-kubernetes-list-map-keys"], ["type"]);
});

test("the CRD of Plugin has a rule for each kind of target that some plugins refuse, and rules for targets that exclude each other", () => {
  const rules = kindFacts.Plugin.spec.cel?.map(({ message }) => message);
  const refusing =
    "acl, basic-auth, bot-detection, cors, forward-auth, hmac-auth, jwt, key-auth, ldap-auth, mtls-auth, openid-connect, session and standard-webhooks";
  assert.deepEqual(rules, [
    `${refusing} cannot be attached to a Consumer`,
    `${refusing} cannot be attached to a ConsumerGroup`,
    "a plugin cannot be attached to both a consumer and a consumer group",
    "a target of the kind Ingress, HTTPRoute, GRPCRoute or Gateway can only be combined with a Consumer or a ConsumerGroup",
    "a target of the kind Ingress, HTTPRoute, GRPCRoute or Gateway must be in the namespace of the Plugin: remove namespace",
  ]);
});

/** The keywords of structural schemas (Kubernetes' JSONSchemaProps) that the CRDs use. */
const keywords = new Set([
  ...["type", "description", "format", "pattern", "enum", "required", "properties", "items", "additionalProperties"],
  ...["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "minProperties", "maxProperties"],
  ...["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields"],
  "x-kubernetes-int-or-string",
  "x-kubernetes-validations",
]);

function visit(node: Plain, path: string, look: (node: Plain, path: string) => void): void {
  look(node, path);
  for (const [name, member] of Object.entries(node.properties ?? {})) visit(member, `${path}.${name}`, look);
  if (node.items) visit(node.items, `${path}[]`, look);
  if (typeof node.additionalProperties === "object") visit(node.additionalProperties, `${path}{}`, look);
}

for (const [kind, facts] of Object.entries({ ...kindFacts, ...parameterKinds })) {
  const root = (crd(kind, facts) as Plain).spec?.versions?.[0]?.schema?.openAPIV3Schema as Plain;

  test(`${kind}: every member has a type and a description, and only structural keywords`, () => {
    visit(root, kind, (node, path) => {
      assert.ok(typeof node.type === "string" || node["x-kubernetes-int-or-string"], path);
      assert.notEqual(node.required?.length, 0, `${path}: the API server does not keep an empty list`);
      if (path !== `${kind}.metadata`)
        assert.ok(String(node.description ?? "").length > 3, `${path} has no description`);
      assert.deepEqual(
        Object.keys(node).filter((keyword) => !keywords.has(keyword)),
        [],
        path,
      );
    });
  });

  test(`${kind}: strings, lists and maps of the spec are bounded, which limits the cost of rules`, () => {
    visit(root.properties?.spec as Plain, "spec", (node, path) => {
      if (String(node.type) === "array") assert.ok(node.maxItems, path);
      if (node.additionalProperties) assert.ok(node.maxProperties, path);
      if (String(node.type) === "string" && !node.enum && !/\.id$|\[\]$/.test(path)) assert.ok(node.maxLength, path);
    });
  });
}

test("the chart sluice-crds has the same CRDs as the folder crds, and they stay when the chart is uninstalled", () => {
  for (const [index, { content }] of crdChartFiles().entries()) {
    const { metadata, ...chart } = parse(content);
    const { metadata: plainMetadata, ...plain } = parse(crdFiles()[index]?.content ?? "");
    assert.deepEqual(chart, plain);
    assert.deepEqual(metadata, { ...plainMetadata, annotations: { "helm.sh/resource-policy": "keep" } });
  }
});

test("the chart sluice contains no CRD, and no custom resource except those for its own user API and its GatewayClass", () => {
  const folder = new URL("../../../../charts/sluice/", import.meta.url);
  const own = ["user-api-route.yaml", "gateway-class.yaml"];
  for (const name of readdirSync(new URL("templates/", folder))) {
    const template = readFileSync(new URL(`templates/${name}`, folder), "utf8");
    assert.doesNotMatch(template, /kind: CustomResourceDefinition/, name);
    assert.equal(/^apiVersion: sluice\.dev/m.test(template), own.includes(name), name);
  }
  assert.ok(!readdirSync(folder).includes("crds"));
});
