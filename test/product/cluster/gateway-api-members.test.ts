/** The reference page of the Gateway API, compared with its CRDs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  backendTlsPolicyMembers,
  gatewayClassMembers,
  gatewayMembers,
  grpcRouteMembers,
  httpRouteMembers,
  listenerSetMembers,
  tlsRouteMembers,
} from "@sluice/crds";
import { parse } from "yaml";
import { obtainTool } from "../../../tools/programs/tool.ts";

const crds = await obtainTool("gateway-api-crds");

test("the reference page has every member of the CRDs", () => {
  const tables = {
    gatewayclasses: gatewayClassMembers,
    gateways: gatewayMembers,
    listenersets: listenerSetMembers,
    httproutes: httpRouteMembers,
    grpcroutes: grpcRouteMembers,
    backendtlspolicies: backendTlsPolicyMembers,
    tlsroutes: tlsRouteMembers,
  };
  for (const [plural, table] of Object.entries(tables)) {
    const crd = parse(readFileSync(join(crds, `gateway.networking.k8s.io_${plural}.yaml`), "utf8"));
    const { schema } = crd.spec.versions.find(({ name }: { readonly name: string }) => name === "v1");
    const known = Object.keys(table);
    const missing = membersOf(schema.openAPIV3Schema.properties.spec, "").filter(
      (path) => !known.some((one) => path === one || path.startsWith(`${one}.`) || path.startsWith(`${one}[]`)),
    );
    assert.deepEqual(missing, [], plural);
  }
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** The paths of the members that have no members of their own. */
function membersOf({ properties, items }: Schema, path: string): readonly string[] {
  if (items) return membersOf(items, `${path}[]`);
  if (!properties) return [path];
  return Object.entries(properties).flatMap(([name, schema]) =>
    membersOf(schema, path === "" ? name : `${path}.${name}`),
  );
}
