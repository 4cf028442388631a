import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type NodeProblem, withNodeProblems } from "./node-problems.ts";

const unreachable = "the database at 10.0.0.9:5432 does not answer: connect ECONNREFUSED";
/** By path, the members of a node's GET /status. */
const reports: Readonly<Record<string, object>> = {
  "/lost/status": { sluice: { revision: 50, trouble: unreachable } },
  "/deaf/status": { sluice: { revision: 53, trouble: null } },
  "/other/status": { message: "hello" },
  "/empty/status": { sluice: null },
};
const listeners = Object.keys(reports).map((path) =>
  createServer((_, response) => response.end(JSON.stringify(reports[path]))),
);
before(() => Promise.all(listeners.map((server) => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)))));
after(() => Promise.all(listeners.map((server) => new Promise((done) => server.close(done)))));
const urlOf = (path: string): string => {
  const server = listeners[Object.keys(reports).indexOf(path)];
  assert.ok(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const lastSeen = "2026-01-01T00:00:00Z";
const rows: readonly (readonly [
  what: string,
  node: () => object,
  of: { readonly silent?: readonly string[]; readonly lagging?: readonly string[] },
  message: RegExp | null,
  remedy: RegExp,
])[] = [
  [
    "a node that is neither silent nor late has no problem",
    () => ({ revision: 53, status: urlOf("/lost/status") }),
    {},
    null,
    /./,
  ],
  [
    "a silent node that lost its database reports its revision and the reason",
    () => ({ revision: 51, status: urlOf("/lost/status") }),
    { silent: ["n1"] },
    /^It serves revision 50 of 53; the database at 10\.0\.0\.9:5432 does not answer: connect ECONNREFUSED\.$/,
    /^Restore the connection between the node and the database\. Until then, take it out of the load balancer /,
  ],
  [
    "a silent node without an error of its own is named with the time of its last heartbeat",
    () => ({ revision: 53, status: urlOf("/deaf/status"), lastSeen }),
    { silent: ["n1"] },
    /^It serves revision 53; the database has not heard from it since 2026-01-01T00:00:00Z\.$/,
    /^Restore the connection/,
  ],
  [
    "a silent node that has never answered is named without a time",
    () => ({ revision: null, status: urlOf("/deaf/status"), lastSeen: null }),
    { silent: ["n1"] },
    /^It serves revision 53; the database has not heard from it\.$/,
    /^Restore the connection/,
  ],
  [
    "the state of a silent node that cannot be reached is unknown since its last heartbeat",
    () => ({ revision: 50, status: "http://127.0.0.1:1", lastSeen }),
    { silent: ["n1"] },
    /^Its state is unknown since 2026-01-01T00:00:00Z, and its status listener at http:\/\/127\.0\.0\.1:1 does not answer: .+\. It may still serve clients with an old configuration\.$/,
    /^Check its process and the network\./,
  ],
  [
    "a silent node of another machine whose status listener is on loopback cannot be asked",
    () => ({ revision: 50, status: null, lastSeen }),
    { silent: ["n1"] },
    /^Its state is unknown since 2026-01-01T00:00:00Z, and the address of its status listener is not known here\./,
    /^Check its process/,
  ],
  [
    "another server that answers at the address of a silent node is reported",
    () => ({ revision: 50, status: urlOf("/other/status") }),
    { silent: ["n1"] },
    /^Its state is unknown, and http:\S+ is not the status listener of a node\. It may/,
    /^Check its process/,
  ],
  [
    "a response without facts about a node is not accepted as the status of a node",
    () => ({ revision: 50, status: urlOf("/empty/status") }),
    { silent: ["n1"] },
    /^Its state is unknown, and http:\S+ is not the status listener of a node\. It may/,
    /^Check its process/,
  ],
  [
    "a late node reports why it does not serve the newest revision",
    () => ({ revision: 50, status: urlOf("/lost/status") }),
    { lagging: ["n1"] },
    /^It serves revision 50 of 53; the database at .* ECONNREFUSED\.$/,
    /^Correct the cause\./,
  ],
  [
    "the remedy for a late node without an error is to wait",
    () => ({ revision: 52, status: null }),
    { lagging: ["n1"] },
    /^It serves revision 52 of 53\.$/,
    /^Wait some seconds\./,
  ],
];
for (const [what, node, of, message, remedy] of rows)
  test(what, async () => {
    const nodes = [{ address: "n1", ...node() }];
    const { nodes: described } = await withNodeProblems({ revision: 53, ...of, nodes }, "database");
    const [{ problem }] = described as [{ readonly problem: NodeProblem | null }];
    if (message === null) assert.equal(problem, null);
    else {
      assert.match(problem?.message ?? "", message);
      assert.match(problem?.remedy ?? "", remedy);
    }
  });

test("if the store reports no revision, the newest is the highest revision that a node serves", async () => {
  const nodes = [
    { address: "n1", revision: 2 },
    { address: "n2", revision: 3 },
  ];
  const { nodes: described } = await withNodeProblems({ silent: ["n1"], nodes }, "cluster");
  assert.partialDeepStrictEqual(described, [{ revision: 2, problem: {} }, { problem: null }]);
});
