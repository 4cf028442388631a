import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Target } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { createNameService } from "../outbound/name-service.ts";
import { type NameRecords, startDnsServer } from "../outbound/testing-dns.ts";
import { TargetNames } from "./target-names.ts";
import { targetOf, upstreamNamed } from "./testing.ts";
import { FakeClock } from "./testing-clock.ts";

const pool = upstreamNamed("pool");
const targetsOf = (...addresses: readonly string[]): ReadonlyMap<string, Target> =>
  new Map(addresses.map((address) => targetOf(pool, address)).map((target) => [target.id, target]));

const srv = (name: string, port: number, weight = 1, priority = 1) => ({ name, port, weight, priority });

/** Lookups of names in a DNS server, without 10.0.0.9, which the guard refuses. */
async function start(context: TestContext, records: Readonly<Record<string, NameRecords>>) {
  const server = await startDnsServer(context, records);
  const clock = new FakeClock();
  let resolved: Readonly<Record<string, readonly string[]>> = {};
  let changes = 0;
  const names = new TargetNames({
    names: createNameService([server.address]),
    reasonToRefuse: (host) => (host === "10.0.0.9" ? "refused" : null),
    clock,
    onChange(next) {
      changes++;
      resolved = Object.fromEntries(
        [...next].map(([target, addresses]) => [
          target,
          addresses.map(({ host, port, weight }) => `${host} ${port} ${weight}`),
        ]),
      );
    },
  });
  context.after(() => names.close());
  return { server, clock, names, resolved: () => resolved, changes: () => changes };
}

/** The records of `up.test`, and the members of the target `up.test:80`; undefined: its own host. */
const table: readonly (readonly [name: string, records: NameRecords, members: readonly string[] | undefined])[] = [
  ["a single address", { A: ["10.0.0.1"] }, undefined],
  ["several addresses", { A: ["10.0.0.2", "10.0.0.1"] }, ["10.0.0.1 80 null", "10.0.0.2 80 null"]],
  ["IPv4 and IPv6 addresses", { A: ["10.0.0.1"], AAAA: ["2001:db8::1", "2001:db8::2"] }, undefined],
  ["IPv6 addresses", { AAAA: ["2001:db8::1", "2001:db8::2"] }, ["2001:db8::1 80 null", "2001:db8::2 80 null"]],
  ["refused addresses", { A: ["10.0.0.9", "10.0.0.1", "10.0.0.2"] }, ["10.0.0.1 80 null", "10.0.0.2 80 null"]],
  ["only one address that is not refused", { A: ["10.0.0.9", "10.0.0.1"] }, undefined],
  ["an SRV record", { SRV: [srv("a.test", 81, 7)], A: ["10.0.0.1", "10.0.0.2"] }, ["a.test 81 7"]],
  ["SRV records of weight 0", { SRV: [srv("a.test", 81, 0), srv("b.test", 82, 5)] }, ["a.test 81 1", "b.test 82 5"]],
  ["an SRV record of port 0", { SRV: [srv("a.test", 0)] }, ["a.test 80 1"]],
  ["SRV records of several priorities", { SRV: [srv("a.test", 81, 1, 20), srv("b.test", 82, 1, 10)] }, ["b.test 82 1"]],
  ["an SRV record that denies the service", { SRV: [srv(".", 0)] }, []],
];
for (const [name, records, members] of table) {
  test(`a target whose name has ${name} has the members ${members?.join(", ") ?? "of its host"}`, async (context) => {
    const { names, resolved } = await start(context, { "up.test": records });
    await names.follow(targetsOf("up.test:80", "10.0.0.3:80"));
    assert.deepEqual(resolved(), members === undefined ? {} : { "up.test:80": members });
  });
}

test("names are looked up again, and keep their addresses while DNS fails", async (context) => {
  const { server, clock, names, resolved, changes } = await start(context, {
    "up.test": { A: ["10.0.0.1", "10.0.0.2"] },
    "srv.test": { SRV: [srv("a.test", 81)], A: ["10.0.0.1", "10.0.0.2"] },
  });
  await names.follow(targetsOf("up.test:80", "srv.test:80"));
  const before = resolved();
  // The timer of the next round starts when the last lookup has ended.
  const nextRound = async () => {
    await clock.pass(5000);
    await waitFor(() => clock.waiting === 1, { what: "the end of the lookups" });
  };
  server.records = null;
  await nextRound();
  assert.deepEqual([resolved(), changes()], [before, 1]);
  server.records = { "up.test": { A: ["10.0.0.3", "10.0.0.1"] } };
  await nextRound();
  assert.deepEqual(resolved(), { "up.test:80": ["10.0.0.1 80 null", "10.0.0.3 80 null"] });
  await names.follow(targetsOf());
  await clock.pass(5000);
  await waitFor(() => changes() === 3, { what: "the removal of the addresses" });
  assert.deepEqual([resolved(), clock.waiting], [{}, 0]);
});

test("a change waits at most a second for names that DNS does not answer", async () => {
  const clock = new FakeClock();
  const names = new TargetNames({
    names: { lookup() {}, serviceRecords: () => new Promise(() => {}) },
    reasonToRefuse: () => null,
    clock,
    onChange: () => assert.fail("there is no change"),
  });
  const followed = names.follow(targetsOf("up.test:80"));
  await clock.pass(1000);
  await followed;
  names.close();
});
