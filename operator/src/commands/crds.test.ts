import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ClusterObject, type ClusterObjects, Conflict, ResourceRejected } from "@sluice/crds";
import { type CrdsVerb, crdsCommand } from "./crds.ts";

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.sluice.dev" },
  spec: { versions: [] },
};
const established = { conditions: [{ type: "Established", status: "True" }] };
const taken = { conditions: [{ type: "NamesAccepted", status: "False", message: '"things" is already in use' }] };

interface Scene {
  /** The status that the API server adds to an applied object. */
  readonly status?: object;
  readonly refusal?: Error;
}

/** Runs the command on a fake API server that stores one object. test/product/cluster uses a real API server. */
async function run(verb: CrdsVerb, { status = established, refusal }: Scene = {}) {
  let stored: ClusterObject | null = null;
  let connections = 0;
  const objects: ClusterObjects = {
    get: async () => stored,
    apply: async (_kind, object) => {
      if (refusal) throw refusal;
      stored = { ...object, status };
      return stored;
    },
    close: async () => void connections--,
  };
  const lines: string[] = [];
  const options = { print: (line: string) => lines.push(line), warn: (line: string) => lines.push(`! ${line}`) };
  const connect = () => {
    connections++;
    return objects;
  };
  const definitions = new Map([[definition.metadata.name, definition]]);
  const code = await crdsCommand(verb, { ...options, connect, definitions, timeout: 0 });
  assert.equal(connections, 0, "a connection is left open");
  return { code, lines };
}

describe("sluice-operator crds", () => {
  test("prints the result for each CRD", async () => {
    assert.deepEqual(await run("apply"), { code: 0, lines: ["things.sluice.dev created", "all CRDs are served"] });
  });

  for (const [what, scene, message] of [
    [
      "the API server refuses",
      { refusal: new ResourceRejected("spec.group: Invalid value") },
      /^! spec\.group: Invalid/,
    ],
    [
      "is changed by another writer at the same time",
      { refusal: new Conflict("changed", "has been modified") },
      /^! has been/,
    ],
    ["has names that another CRD has", { status: taken }, /its names are in use: "things" is already in use/],
    ["has no conditions yet", { status: { conditions: null } }, /does not serve it yet/],
    ["is not served in time", { status: {} }, /does not serve it yet/],
  ] as const)
    test(`fails with the reason for a CRD that ${what}`, async () => {
      const { code, lines } = await run("apply", scene);
      assert.equal(code, 1);
      assert.match(lines.at(-1) ?? "", message);
    });

  test("does not report a bug as a refusal", async () => {
    await assert.rejects(run("apply", { refusal: new TypeError("a bug") }), /a bug/);
  });
});
