import assert from "node:assert/strict";
import { test } from "node:test";
import { derivedIdOf, deriveId } from "@sluice/model";
import { createdSeconds, exampleOptions, exampleResource } from "../testing-example.ts";
import { CHILD_TIMES } from "../timestamps.ts";
import { describeResourceViolation, translateToEntities } from "../translate.ts";

const targets = [{ target: "10.0.0.1", weight: 5 }, { target: "http://x" }, "x", { target: "b:80", id: "1" }, {}];

test("a target's id is derived from its upstream and its address, to which the default port is added if it has none", () => {
  const [upstream, first, second] = translateToEntities(
    exampleResource("Upstream", { name: "u", targets: [{ target: "10.0.0.1" }, { target: "b:80" }] }),
    exampleOptions,
  );
  const id = deriveId("upstreams", "u");
  assert.equal(upstream?.item.id, id);
  assert.equal(first?.item.id, derivedIdOf("targets", { upstream: { id }, target: "10.0.0.1:8000" }));
  assert.equal(second?.item.id, derivedIdOf("targets", { upstream: { id }, target: "b:80" }));
  assert.deepEqual(first?.entity, {
    id: first?.item.id,
    created_at: createdSeconds,
    updated_at: createdSeconds,
    upstream: { id },
    target: "10.0.0.1:8000",
    weight: 100,
    tags: null,
  });
});

test("an invalid target does not affect its upstream or the other targets", () => {
  const [upstream, ...rest] = translateToEntities(exampleResource("Upstream", { name: "u", targets }), exampleOptions);
  assert.ok(upstream?.entity);
  assert.deepEqual(
    rest.map(({ entity }) => entity !== undefined),
    [true, false, false, false, false],
  );
  assert.deepEqual(
    rest.flatMap(({ violations }) => violations.map(describeResourceViolation)),
    [
      "spec.targets[1].target: Invalid target ('http://x'); not a valid hostname or ip address",
      "spec.targets[2]: expected a record",
      "spec.targets[3].id: expected a valid UUID",
      "spec.targets[4].target: required field missing",
    ],
  );
});

test("invalid SNIs do not affect their certificate or its valid SNI", () => {
  const snis = [{ name: "a.example" }, { name: "a.*.example" }, { name: "b.example", colour: 1 }];
  const [certificate, ...rest] = translateToEntities(
    exampleResource("Certificate", { secretRef: { name: "tls" }, snis }),
    exampleOptions,
  );
  assert.ok(certificate?.entity);
  assert.equal(rest[0]?.entity?.id, deriveId("snis", "a.example"));
  assert.deepEqual(
    rest.flatMap(({ violations }) => violations.map(describeResourceViolation)),
    ["spec.snis[1].name: wildcard must be leftmost or rightmost character", "spec.snis[2].colour: unknown field"],
  );
});

test("an invalid list of targets is an error of the upstream", () => {
  const items = translateToEntities(exampleResource("Upstream", { name: "u", targets: "x" }), exampleOptions);
  assert.deepEqual(
    items.map(({ violations }) => violations.map(describeResourceViolation)),
    [["spec.targets: expected an array"]],
  );
});

test("a target has the times of its upstream, unless the annotation child-times has valid times for the target", () => {
  const id = derivedIdOf("targets", { upstream: { id: deriveId("upstreams", "u") }, target: "a:1" });
  const timesWith = (annotation: string) => {
    const plain = exampleResource("Upstream", { name: "u", targets: [{ target: "a:1" }] });
    const annotated = { ...plain, metadata: { ...plain.metadata, annotations: { [CHILD_TIMES]: annotation } } };
    const [, target] = translateToEntities(annotated, exampleOptions);
    assert.ok(target?.entity);
    return [target.item.created_at, target.item.updated_at];
  };
  assert.deepEqual(timesWith(JSON.stringify({ [id]: [1.5, 2.5] })), [1.5, 2.5]);
  const others = [
    "",
    "{",
    "null",
    "[]",
    JSON.stringify({ [id]: [1] }),
    JSON.stringify({ [id]: ["1", 2] }),
    '{"x":[1,2]}',
  ];
  for (const annotation of others)
    assert.deepEqual(timesWith(annotation), [createdSeconds, createdSeconds], annotation);
});
