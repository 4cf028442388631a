import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createNodePorts } from "./node-ports.ts";

describe("ports of the nodes for Gateways", () => {
  it("stay the same for the same port of a Gateway, and differ for others", () => {
    const ports = createNodePorts({ first: 10_000, last: 10_009 });
    const all = [ports.portOf("a/web", 80), ports.portOf("a/web", 443), ports.portOf("b/web", 80)];
    assert.deepEqual(all, [10_000, 10_001, 10_002]);
    assert.equal(ports.portOf("a/web", 443), 10_001);
  });

  it("are undefined when the range is used up, until a Gateway gives one back", () => {
    const ports = createNodePorts({ first: 10_000, last: 10_001 });
    ports.portOf("a/web", 80);
    ports.portOf("a/web", 443);
    assert.equal(ports.portOf("b/web", 80), undefined);
    assert.deepEqual(ports.retain("a/web", new Set([80])), new Set(["b/web"]), "b/web may get the port");
    assert.equal(ports.portOf("b/web", 80), 10_001);
    assert.equal(ports.portOf("a/web", 80), 10_000);
    assert.deepEqual(ports.retain("a/web", new Set()), new Set(), "no Gateway waits");
  });

  it("are not given out again before all others", () => {
    const ports = createNodePorts({ first: 10_000, last: 10_002 });
    ports.portOf("a/web", 80);
    ports.retain("a/web", new Set());
    assert.deepEqual(
      [ports.portOf("b/web", 80), ports.portOf("b/web", 81), ports.portOf("b/web", 82)],
      [10_001, 10_002, 10_000],
    );
  });

  it("are taken over from a Service, even if another Gateway has got one meanwhile", () => {
    const ports = createNodePorts({ first: 10_000, last: 10_009 });
    assert.equal(ports.portOf("a/web", 80), 10_000);
    assert.equal(ports.portOf("b/web", 80), 10_001);
    assert.deepEqual(ports.adopt("b/web", new Map([[80, 10_000]])), new Set(["a/web", "b/web"]));
    assert.equal(ports.portOf("b/web", 80), 10_000);
    assert.equal(ports.portOf("a/web", 80), 10_002);
  });

  it("belong to the Gateway whose Service was seen first", () => {
    const ports = createNodePorts({ first: 10_000, last: 10_009 });
    ports.adopt("a/web", new Map([[80, 10_005]]));
    assert.deepEqual(ports.adopt("b/web", new Map([[80, 10_005]])), new Set());
    assert.equal(ports.portOf("a/web", 80), 10_005);
    assert.notEqual(ports.portOf("b/web", 80), 10_005);
  });

  it("do not follow an edited Service, nor one with ports outside of the range", () => {
    const ports = createNodePorts({ first: 10_000, last: 10_009 });
    ports.adopt("a/web", new Map([[80, 10_005]]));
    assert.deepEqual(ports.adopt("a/web", new Map([[80, 10_006]])), new Set());
    assert.deepEqual(ports.adopt("b/web", new Map([[80, 22]])), new Set());
    assert.equal(ports.portOf("a/web", 80), 10_005);
    assert.equal(ports.portOf("b/web", 80), 10_000);
  });
});
