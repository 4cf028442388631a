import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "../resource.ts";
import { printResource, removeDocument, replaceDocument } from "./rewrite-document.ts";
import { parseResources } from "./view/parse-resources.ts";

const file = `# The users of the house.
# Second line.
apiVersion: sluice.dev/v1alpha1
kind: Service
metadata:
  name: users # the name
  annotations: {note: "by hand"}
spec:
  # where it lives
  url: http://users.example   # not 127.0.0.1
  tags: [ a,  b ]
  retries: 5
---
# Not ours.
apiVersion: v1
kind: ConfigMap
metadata:   {name: odd}
...
---

apiVersion: sluice.dev/v1alpha1
kind: Route
metadata:
  name: users
  namespace: other
spec:
  paths:
  - /users # public
  - /people
  headers:
    x-a: ["1"]

# the end
`;

const contentOf = (text: string, name: string): Resource => {
  const found = parseResources(text).resources.find(({ kind }) => kind === name);
  assert.ok(found);
  return found.content;
};

test("a rewrite changes only the members that differ and, in changed lines, spaces in flow collections and before comments; comments, order and all other documents stay unchanged", () => {
  const users = contentOf(file, "Service");
  const changed = { ...users, spec: { url: "http://other.example", tags: ["a", "b"], retries: 2, enabled: false } };
  assert.equal(
    replaceDocument(file, 0, changed),
    file
      .replace("url: http://users.example   # not", "url: http://other.example # not")
      .replace('{note: "by hand"}', '{ note: "by hand" }')
      .replace("[ a,  b ]", "[ a, b ]")
      .replace("retries: 5", "retries: 2\n  enabled: false"),
  );
});

test("a rewrite keeps the style of lists, and their comments", () => {
  const route = contentOf(file, "Route");
  const changed = { ...route, spec: { paths: ["/users", "/folk", "123"], headers: { "x-a": ["1"] } } };
  assert.equal(replaceDocument(file, 2, changed), file.replace("  - /people\n", '  - /folk\n  - "123"\n'));
});

test("a rewrite makes no change besides the requested change", () => {
  const route = contentOf(file, "Route");
  const changed: Resource = {
    ...route,
    metadata: { ...route.metadata, labels: { a: "1" } },
    spec: { hosts: ["true"] },
  };
  const after = replaceDocument(file, 2, changed);
  assert.deepEqual(contentOf(after, "Route"), changed);
  assert.deepEqual(contentOf(after, "Service"), contentOf(file, "Service"));
});

test("removeDocument removes one document of many, and returns null for the only document of a file", () => {
  const without = removeDocument(file, 0);
  assert.ok(without?.startsWith("---\n# Not ours."));
  assert.equal(contentOf(without ?? "", "Route").metadata.name, "users");
  const alone = printResource(contentOf(file, "Service"));
  assert.equal(removeDocument(alone, 0), null);
});

test("a change of a node with an anchor does not change its aliases", () => {
  const aliased = `apiVersion: sluice.dev/v1alpha1
kind: Route
metadata: { name: a }
spec: { paths: &list [/a], hosts: *list }
`;
  const route = contentOf(aliased, "Route");
  const changed = { ...route, spec: { paths: ["/b"], hosts: ["/a"] } };
  assert.deepEqual(contentOf(replaceDocument(aliased, 0, changed), "Route"), changed);
});

test("a rewrite keeps JSON as JSON", () => {
  const json = JSON.stringify({
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: { name: "a" },
    spec: {},
  });
  const changed = { ...contentOf(json, "Service"), spec: { url: "http://a" } };
  assert.deepEqual(JSON.parse(replaceDocument(json, 0, changed)).spec, { url: "http://a" });
});

test("a printed resource omits the default namespace", () => {
  assert.doesNotMatch(printResource(contentOf(file, "Service")), /namespace/);
  assert.match(printResource(contentOf(file, "Route")), /namespace: other/);
});
