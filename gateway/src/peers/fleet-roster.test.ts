import assert from "node:assert/strict";
import { test } from "node:test";
import type { PeerReport, PublishedView } from "@sluice/model/serving";
import { FleetRoster } from "./fleet-roster.ts";
import type { RosterMessage } from "./roster-message.ts";

const port = 8006;
const hostOf = (name: string): string => `10.0.0.${name.charCodeAt(0)}`;
const address = (name: string) => ({ host: hostOf(name), port });
const message = (name: string, members: Partial<RosterMessage> = {}): RosterMessage => ({
  name,
  state: "present",
  view: null,
  reached: [],
  ...members,
});
const view = (epoch: number, members: string, leaving = ""): PublishedView => {
  const [present, others] = [members, leaving].map((names) => [...names].map((name) => ({ name, ...address(name) })));
  return { epoch, members: present ?? [], leaving: others ?? [] };
};

interface Row {
  readonly does: string;
  readonly own: RosterMessage;
  /** The answers of the addresses; null: no process listens there. */
  readonly answers: Readonly<Record<string, RosterMessage | null>>;
  /** Milliseconds since the start. Default: 100. */
  readonly after?: number;
  readonly publishes: PublishedView | null;
}

const state = (name: string, is: PeerReport["state"], of: PublishedView) => message(name, { state: is, view: of });
const rows: readonly Row[] = [
  {
    does: "publishes a view of all nodes as soon as all addresses have answered",
    own: message("a"),
    answers: { a: message("a"), b: message("b"), c: message("c") },
    publishes: view(1, "abc"),
  },
  {
    does: "leaves the views to the node whose name sorts first",
    own: message("b"),
    answers: { a: message("a"), b: message("b") },
    publishes: null,
  },
  {
    does: "leaves the views to a node that only another node reaches",
    own: message("b"),
    answers: { b: message("b"), c: message("c", { reached: ["a", "b", "c"] }) },
    after: 3000,
    publishes: null,
  },
  {
    does: "waits after its start for an address that does not answer",
    own: message("a"),
    answers: { a: message("a"), b: null },
    publishes: null,
  },
  {
    does: "publishes without an address that does not answer for two seconds",
    own: message("a"),
    answers: { a: message("a"), b: null },
    after: 2000,
    publishes: view(1, "a"),
  },
  {
    does: "publishes no view while it does not find itself",
    own: message("a"),
    answers: { b: message("b") },
    after: 3000,
    publishes: null,
  },
  {
    does: "publishes nothing while nothing changes",
    own: message("a", { view: view(7, "ab") }),
    answers: { a: message("a"), b: message("b", { view: view(7, "ab") }) },
    publishes: null,
  },
  {
    does: "adds a node that has started, and continues the epochs of the others",
    own: message("a"),
    answers: { a: message("a"), b: message("b", { view: view(7, "b") }) },
    publishes: view(8, "ab"),
  },
  {
    does: "removes a node whose process has ended",
    own: message("a", { view: view(7, "abc") }),
    answers: { a: message("a"), b: message("b", { view: view(7, "abc") }), c: null },
    publishes: view(8, "ab"),
  },
  {
    does: "lists a node that shuts down as leaving",
    own: message("a", { view: view(7, "ab") }),
    answers: { a: message("a"), b: state("b", "leaving", view(7, "ab")) },
    publishes: view(8, "a", "b"),
  },
  {
    does: "publishes instead of a node that shuts down",
    own: message("b", { view: view(7, "ab") }),
    answers: { a: state("a", "leaving", view(7, "ab")), b: message("b") },
    publishes: view(8, "b", "a"),
  },
  {
    does: "removes a node that has left",
    own: message("a", { view: view(8, "a", "b") }),
    answers: { a: message("a"), b: state("b", "left", view(8, "a", "b")) },
    publishes: view(9, "a"),
  },
  {
    does: "publishes no view once it shuts down",
    own: message("a", { state: "leaving", view: view(7, "ab") }),
    answers: { a: message("a", { state: "leaving" }), b: message("b", { view: view(7, "ab") }) },
    publishes: null,
  },
  {
    does: "publishes a view without members if all nodes shut down, so that none waits for another one",
    own: message("a", { state: "leaving", view: view(7, "ab") }),
    answers: { a: state("a", "leaving", view(7, "ab")), b: state("b", "leaving", view(7, "ab")) },
    publishes: view(8, "", "ab"),
  },
  {
    does: "replaces the views of two parts of the fleet that were separated, although their epochs are equal",
    own: message("a", { view: view(7, "ab") }),
    answers: { a: message("a"), b: message("b", { view: view(7, "b") }) },
    publishes: view(8, "ab"),
  },
];

for (const { does, own, answers, after = 100, publishes } of rows)
  test(`a node ${does}`, () => {
    const roster = new FleetRoster(0);
    roster.ask(Object.keys(answers).map(address));
    for (const [name, answer] of Object.entries(answers)) {
      if (answer === null) roster.refuse(address(name));
      else roster.answer(address(name), answer, after);
    }
    assert.deepEqual(roster.next(own, after), publishes);
  });

test("a node removes another one that has been silent for five seconds, unless it was itself stopped meanwhile", () => {
  const own = message("a", { view: view(1, "ab") });
  const roster = new FleetRoster(0);
  roster.ask(["a", "b"].map(address));
  for (const name of ["a", "b"]) roster.answer(address(name), message(name, { view: view(1, "ab") }), 0);
  roster.answer(address("a"), own, 4999);
  assert.equal(roster.next(own, 4999), null);
  roster.stall(2000);
  assert.equal(roster.next(own, 6999), null);
  assert.deepEqual(roster.next(own, 7000), view(2, "a"));
});

test("a roster knows the last answers of nodes, with their states and views", () => {
  const roster = new FleetRoster(0);
  const of = view(1, "ab");
  roster.ask([address("a"), address("b")]);
  roster.answer(address("a"), message("a", { view: of }), 1);
  assert.ok(roster.knows(message("a", { view: of })));
  const news = [
    message("b", { view: of }),
    state("a", "leaving", of),
    message("a", { view: view(2, "ab") }),
    message("a"),
  ];
  for (const each of news) assert.ok(!roster.knows(each), JSON.stringify(each));
  assert.ok(!roster.isComplete);
  roster.answer(address("b"), message("b", { view: of }), 1);
  assert.ok(roster.isComplete);
  roster.refuse(address("b"));
  assert.ok(!roster.isComplete && !roster.knows(message("b", { view: of })));
});
