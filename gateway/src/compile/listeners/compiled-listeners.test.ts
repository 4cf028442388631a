import assert from "node:assert/strict";
import { before, test } from "node:test";
import { bucketDifferences, type DocumentListener, emptySnapshot, type SnapshotCertificate } from "@sluice/model";
import { makeAuthority, type TestAuthority } from "../../../../tools/programs/certificates.ts";
import { certificateNamed, routeNamed } from "../testing-entities.ts";
import { CompiledListeners } from "./compiled-listeners.ts";

const web: DocumentListener = { name: "web", port: 9443, public_port: 443, protocol: "https" };
const api: DocumentListener = { ...web, name: "api", hostname: "api.example" };
const listeners = new Map([web, api].map((listener) => [listener.name, listener]));

let authority: TestAuthority;
before(async () => {
  authority = await makeAuthority();
});

test("of several certificates of a listener, the oldest that covers the server name is presented, or else the oldest", async () => {
  const certificate = async (name: string, created_at: number, names = [name]): Promise<SnapshotCertificate> => ({
    ...certificateNamed(name, await authority.issue({ name, sans: names, usage: "server" })).certificate,
    created_at,
    _sluice: { listeners: ["web"] },
  });
  const all = [
    await certificate("b.example", 2),
    await certificate("young", 3, ["*.example"]),
    await certificate("old", 1),
  ];
  const certificates = new Map(all.map((one) => [one.id, one]));
  const compiled = CompiledListeners.empty.with({ ...emptySnapshot, listeners, certificates }, []);
  for (const [serverName, expected] of [
    ["B.example", 0],
    ["c.example", 1],
    ["c.test", 2],
    [null, 2],
    ["api.example", undefined],
  ] as const)
    assert.equal(compiled.certificate(9443, serverName), expected === undefined ? undefined : all[expected]);
  assert.equal(compiled.certificate(9444, "b.example"), undefined);
});

test("a change of a route rebuilds the routers of its listeners only", () => {
  const routerOf = (compiled: CompiledListeners, host: string) =>
    compiled.routerFor({ documentPort: 9443, host, serverName: host });
  const [one, two] = ["web", "api"].map((name) => routeNamed(name, { paths: ["/"], _sluice: { listeners: [name] } }));
  assert.ok(one && two);
  const routes = new Map([one, two].map((route) => [route.id, route]));
  const snapshot = { ...emptySnapshot, listeners };
  const first = CompiledListeners.empty.with(snapshot, bucketDifferences(new Map(), routes));
  const changed = new Map(routes).set(two.id, { ...two, paths: ["/new"] });
  const second = first.with(snapshot, bucketDifferences(routes, changed));
  assert.equal(routerOf(second, "any.example"), routerOf(first, "any.example"));
  assert.notEqual(routerOf(second, "api.example"), routerOf(first, "api.example"));
  assert.equal(second.with(snapshot, []), second);
});
