import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type { PemTexts, PublishedView } from "@sluice/model/serving";
import { chargedTokens } from "../../../gateway/src/counters/fleet/accounts.ts";
import { WorkerFleetCounters } from "../../../gateway/src/counters/fleet/lessee/worker-leases.ts";
import { FleetCounters } from "../../../gateway/src/peers/fleet-counters.ts";
import { FleetPeer } from "../../../gateway/src/peers/fleet-peer.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { costsSuite } from "./costs.ts";
import { slidingCountersSuite } from "./sliding.ts";
import { counter, countersSuite } from "./suite.ts";

const NAME = "fleet.test";
const config = withConfigDefaults("rate-limiting", { minute: 5, policy: "fleet" });
const peers: FleetPeer[] = [];
const unexpected = () => assert.fail("an unexpected event");
const viewOf = (members: readonly FleetPeer[], epoch: number): PublishedView => ({
  epoch,
  members: members.map(({ state: { name }, address }) => ({ name, ...address })),
  leaving: [],
});

let tls: PemTexts;

async function openNode(self: string): Promise<FleetPeer> {
  const peer = await FleetPeer.open({
    self,
    listen: { host: "127.0.0.1", port: 0 },
    tls,
    certificateName: NAME,
    onUnreachable: unexpected,
    onRefusal: (reason, isStale) => assert.ok(isStale, reason),
    events: {
      onOvershoot: unexpected,
      onBorrow: unexpected,
      onIncompleteHandover: unexpected,
      onReplace: unexpected,
      onSend: () => undefined,
    },
  });
  peers.push(peer);
  return peer;
}

before(async () => {
  const authority = await makeAuthority();
  const { certificate: cert, key } = await authority.issue({ name: NAME, sans: [NAME], usage: "peer" });
  tls = { cert, key, ca: authority.certificate };
  for (const self of ["one", "two"]) await openNode(self);
  const [first] = peers;
  assert.ok(first);
  first.publish(viewOf([first], 1));
});
after(() => Promise.all(peers.map((peer) => peer.close())));

countersSuite(
  "counters of a fleet",
  async () => ({ counters: new FleetCounters(peers[0] ?? assert.fail()), config, held: assert.fail }),
  // The owner of a counter keeps it for some seconds longer than its window (WINDOW_GRACE).
  { drops: false },
);

countersSuite(
  "counters of a fleet in a worker thread",
  async () => {
    const counters = new WorkerFleetCounters(new FleetCounters(peers[0] ?? assert.fail()));
    return { counters, config, held: assert.fail };
  },
  { drops: false },
);

costsSuite("the headers of rate-limiting with policy fleet", async () => ({
  counters: new FleetCounters(peers[0] ?? assert.fail()),
  options: { policy: "fleet" },
}));

costsSuite("the headers of rate-limiting with policy fleet in a worker thread", async () => ({
  counters: new WorkerFleetCounters(new FleetCounters(peers[0] ?? assert.fail())),
  options: { policy: "fleet" },
}));

slidingCountersSuite("counters of a fleet with sliding windows", async () => ({
  counters: new FleetCounters(peers[0] ?? assert.fail()),
  config,
}));

slidingCountersSuite("counters of a fleet with sliding windows in a worker thread", async () => ({
  counters: new WorkerFleetCounters(new FleetCounters(peers[0] ?? assert.fail())),
  config,
}));

it("a fleet counts amounts and requests together", async () => {
  const counters = new FleetCounters(peers[0] ?? assert.fail());
  const one = counter({ limit: 5 });
  assert.equal((await counters.incrementBelowLimit([one], config)).admitted, true);
  assert.deepEqual(await counters.addAmount([one], 3), [4]);
  assert.deepEqual(await counters.incrementBelowLimit([one], config), { admitted: true, counts: [5] });
  assert.equal((await counters.incrementBelowLimit([one], config)).admitted, false);
});

it("a worker spends no tokens that were leased before the limit was lowered, each time", async () => {
  const counters = new WorkerFleetCounters(new FleetCounters(peers[0] ?? assert.fail()));
  const of = counter();
  const admitted: number[] = [];
  for (const [limit, requests] of [
    [100_000, 2000],
    [2010, 100],
    [100_000, 90],
    [2110, 100],
  ] as const) {
    admitted.push(0);
    for (let sent = 0; sent < requests; sent++) {
      const result = await counters.incrementBelowLimit([{ ...of, limit }], config);
      if (result.admitted) admitted.push((admitted.pop() ?? 0) + 1);
    }
  }
  assert.deepEqual(admitted, [2000, 10, 90, 10]);
});

it("a node lets requests wait for the first view of which it is a member, and a node that leaves hands its counters over", async () => {
  const [one, two] = peers;
  assert.ok(one && two);
  for (const view of [undefined, viewOf([one], 2)]) {
    if (view !== undefined) for (const peer of peers) peer.publish(view);
    assert.match(two.unreadyReason ?? "", /does not know the other nodes/);
  }
  const of = counter({ limit: 100 });
  const early = new FleetCounters(two).incrementBelowLimit([of], config);
  for (const peer of peers) peer.publish(viewOf(peers, 3));
  assert.equal(two.unreadyReason, null);
  assert.equal((await early).admitted, true);
  const both = Array.from({ length: 59 }, (_, at) => (at % 2 === 0 ? one : two).take([of], "closed"));
  await Promise.all(both);
  const [leaving] = peers.toReversed();
  assert.ok(leaving);
  const retired = leaving.retire();
  const stateOf = ({ state: { state } }: FleetPeer) => state;
  assert.equal(stateOf(leaving), "leaving");
  for (const peer of peers) peer.publish({ ...viewOf([one], 4), leaving: viewOf([leaving], 4).members });
  while (stateOf(leaving) !== "left") await new Promise(setImmediate);
  for (const peer of peers) peer.publish(viewOf([one], 5));
  await retired;
  const rest = await Promise.all(Array.from({ length: 50 }, () => one.take([of], "closed")));
  assert.equal(rest.filter(({ admitted }) => admitted).length, 40);
});

it("the last node that shuts down does not save the tokens that it still holds as spent", async () => {
  const last = await openNode("last");
  last.publish(viewOf([last], 1));
  const day = counter({ period: "day", limit: 10_000 });
  for (let sent = 0; sent < 50; sent++) await last.take([day], "closed");
  const saved = () => {
    const accounts = last.takeUnsaved(10).flatMap((each) => each.accounts);
    return accounts.reduce((sum, [, account]) => sum + chargedTokens(account), 0);
  };
  const before = saved();
  assert.ok(before > 50, `${before}`);
  await last.retire();
  assert.equal(saved(), 50);
  peers.pop();
  await last.close();
});

it("nodes that shut down together end without waiting for each other", async () => {
  for (const peer of peers) peer.leave();
  const retired = Promise.all(peers.map((peer) => peer.retire()));
  const began = performance.now();
  for (const peer of peers) peer.publish({ ...viewOf([], 6), leaving: viewOf(peers, 6).members });
  await retired;
  assert.ok(performance.now() - began < 2000);
});
