import assert from "node:assert/strict";
import { test } from "node:test";
import { type PeerReport, REMOVE_PEER_AFTER } from "@sluice/model";
import { FleetMembership, type MemberCandidate } from "./fleet-membership.ts";

const FIRST = 2 ** 32;
/** The time of every update, unless a test says otherwise. */
const NOW = 100_000;

const peerOf = (name: string, facts: Partial<PeerReport> = {}): PeerReport => ({
  name,
  port: 8006,
  epoch: 0,
  state: "present",
  ...facts,
});

/** A node that answers; `peer` null: it has no listener for other nodes. */
const node = (address: string, peer: PeerReport | null, facts: Partial<MemberCandidate> = {}): MemberCandidate => ({
  address: `https://${address}:8005`,
  state: { node: address, hash: null, revision: 0, version: "test", ...(peer && { peer }) },
  unansweredSince: null,
  isRefusing: false,
  isTerminating: false,
  ...facts,
});

const silentFor = (milliseconds: number): Partial<MemberCandidate> => ({
  state: null,
  unansweredSince: NOW - milliseconds,
});

const refusing = { ...silentFor(0), isRefusing: true };

/** The names of the members and of the leaving nodes after a fleet of a and b has changed to these nodes. */
function namesAfter(...nodes: readonly MemberCandidate[]) {
  const fleet = new FleetMembership();
  fleet.update([node("10.0.0.1", peerOf("a")), node("10.0.0.2", peerOf("b"))], { term: 1, now: NOW });
  const view = fleet.update(nodes, { term: 1, now: NOW });
  return view && [view.members, view.leaving].map((list) => list.map(({ name }) => name).join(" "));
}

const a = node("10.0.0.1", peerOf("a"));
for (const [what, second, members, leaving] of [
  ["answers", node("10.0.0.2", peerOf("b")), "a b", ""],
  ["fails to answer a moment ago", node("10.0.0.2", null, silentFor(REMOVE_PEER_AFTER - 1)), "a b", ""],
  ["fails to answer for too long", node("10.0.0.2", null, silentFor(REMOVE_PEER_AFTER)), "a", ""],
  ["answers a long push", node("10.0.0.2", peerOf("b"), { unansweredSince: NOW - REMOVE_PEER_AFTER }), "a b", ""],
  ["has ended", node("10.0.0.2", null, refusing), "a", ""],
  ["is no longer listed", null, "a", ""],
  ["is a new process", node("10.0.0.2", peerOf("c")), "a c", ""],
  ["has no listener for other nodes", node("10.0.0.2", null), "a", ""],
  ["terminates", node("10.0.0.2", peerOf("b"), { isTerminating: true }), "a", "b"],
  ["terminates and fails to answer", node("10.0.0.2", null, { ...silentFor(1), isTerminating: true }), "a", "b"],
  ["shuts down", node("10.0.0.2", peerOf("b", { state: "leaving" })), "a", "b"],
  ["has handed over what it knew", node("10.0.0.2", peerOf("b", { state: "left" })), "a", ""],
  ["is listed with another address too", node("10.0.0.9", peerOf("a")), "a", ""],
] as const)
  test(`after a node ${what}, the members are ${members} and ${leaving || "none"} leaves`, () => {
    assert.deepEqual(namesAfter(a, ...(second ? [second] : [])), [members, leaving]);
  });

test("a view has the addresses of the push listeners with the ports for other nodes, sorted by name", () => {
  const nodes = [node("[fd00::1]", peerOf("b", { port: 9 })), node("10.0.0.1", peerOf("a"))];
  assert.deepEqual(new FleetMembership().update(nodes, { term: 1, now: NOW }), {
    term: 1,
    epoch: FIRST + 1,
    members: [
      { name: "a", host: "10.0.0.1", port: 8006 },
      { name: "b", host: "fd00::1", port: 9 },
    ],
    leaving: [],
  });
});

test("the epoch grows with each change, and only then", () => {
  const fleet = new FleetMembership();
  const b = node("10.0.0.2", peerOf("b"));
  const [first, same, next] = [[a], [a], [a, b]].map((nodes) => fleet.update(nodes, { term: 1, now: NOW }));
  assert.equal(first, same);
  assert.equal(next?.epoch, FIRST + 2);
});

for (const [what, term, reported, epoch] of [
  ["a new leader", 3, 2 * FIRST + 7, 3 * FIRST + 1],
  ["the same leader after a restart", 3, 3 * FIRST + 7, 3 * FIRST + 8],
  ["a leader whose node reports an impossible epoch", 3, Number.MAX_SAFE_INTEGER, 3 * FIRST + 1],
] as const)
  test(`${what} publishes a view with an epoch of its term above that of its nodes`, () => {
    const nodes = [node("10.0.0.1", peerOf("a", { epoch: reported }))];
    assert.equal(new FleetMembership().update(nodes, { term, now: NOW })?.epoch, epoch);
  });

test("a new leader publishes no view before each node has answered, has ended or was silent for too long", () => {
  const unheard = (facts: Partial<MemberCandidate>) => [a, node("10.0.0.2", null, facts)];
  const viewOf = (nodes: readonly MemberCandidate[]) => new FleetMembership().update(nodes, { term: 1, now: NOW });
  assert.equal(viewOf(unheard(silentFor(REMOVE_PEER_AFTER - 1))), null);
  assert.ok(viewOf(unheard(silentFor(REMOVE_PEER_AFTER))));
  assert.ok(viewOf(unheard(refusing)));
});

test("a fleet whose nodes have no listener for other nodes has no view", () => {
  assert.equal(new FleetMembership().update([node("10.0.0.1", null)], { term: 1, now: NOW }), null);
});
