import assert from "node:assert/strict";
import { test } from "node:test";
import { RunError } from "@pulumi/pulumi";
import { checkRelease, releaseOf } from "./release.ts";

const place = { name: "edge", namespace: "shop" };

test("lists in the values replace the chart's lists, and maps are merged with the chart's maps", () => {
  const { values } = releaseOf({
    ...place,
    values: { gateway: { env: { A: "1" } }, userApi: { route: { paths: ["/u"] } } },
  });
  assert.deepEqual(values.gateway.env, { A: "1" });
  assert.deepEqual(values.userApi.route.paths, ["/u"]);
  assert.equal(values.gateway.workers, 1);
});

test("all errors are thrown as one RunError, which is shown without a stack trace", () => {
  const name = "a".repeat(49);
  const wrong = () => releaseOf({ name, namespace: "shop", values: { namespaces: ["a"], namespaceSelector: "team" } });
  assert.throws(wrong, (error) => {
    assert.ok(RunError.isInstance(error));
    assert.deepEqual(error.message.split("\n  "), [
      `The values of ${name} have faults:`,
      `the name ${name} is too long: 48 characters at most, because names of Services are derived from it`,
      "namespaceSelector: set this or namespaces, not both",
    ]);
    return true;
  });
});

test("names of properties that every object inherits are refused as unknown values", () => {
  const values = JSON.parse('{"__proto__":{"replicas":1},"constructor":{}}');
  assert.deepEqual(
    checkRelease({ ...place, values }).faults.map(({ path }) => path),
    ["__proto__", "constructor"],
  );
});

/** Never called: `npm run check` fails if a line below a directive compiles. */
export function wrongValues() {
  releaseOf({ ...place, values: { gateway: { replicas: 3 } } });
  // @ts-expect-error there is no such value
  releaseOf({ ...place, values: { gateway: { replcas: 3 } } });
  // @ts-expect-error replicas is a number
  releaseOf({ ...place, values: { gateway: { replicas: "3" } } });
  // @ts-expect-error images are a list
  releaseOf({ ...place, values: { plugins: { images: "acme/x" } } });
  // @ts-expect-error access has other values
  releaseOf({ ...place, values: { userApi: { access: "everybody" } } });
}
