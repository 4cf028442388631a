import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { runCommandLine } from "../../testing-command.ts";
import { type ClientRig, startClientRig } from "../testing-client.ts";

const configuration = `_format_version: "3.0"
services:
- name: shop
  host: one.example
  routes:
  - name: shop
    paths: [/shop]
consumers:
- username: ann
`;

let rig: ClientRig;

/** Revision 1 changes the service and creates a route; revision 2 deletes the consumer and changes the service back. */
before(async () => {
  rig = await startClientRig(configuration);
  const wanted = `${rig.folder}/wanted.yml`;
  writeFileSync(wanted, configuration.replace("one.example", "two.example").replace("[/shop]", "[/shop, /cart]"));
  assert.equal((await rig.run(["apply", "-f", wanted, "--yes"]))[0], 0);
  writeFileSync(wanted, configuration.replace(/consumers:[\s\S]*/, ""));
  assert.equal((await rig.run(["apply", "-f", wanted, "--prune", "--yes"]))[0], 0);
});
after(() => rig.close());

const rows: readonly (readonly [does: string, words: readonly string[], code: number, output: RegExp])[] = [
  [
    "history lists revisions with their authors, the newest first",
    ["history"],
    0,
    /^NUMBER +TIME +AUTHOR +CHANGES\n2 +\S+Z +admin token +2 changed, 1 deleted\n1 +\S+Z +admin token +2 changed\n0 +\S+Z +file +-\n$/,
  ],
  ["history wide names the entities", ["history", "-o", "wide"], 0, /\n2 .* ~\S+\/shop ~\S+\/shop -consumers\/ann\n/],
  ["history selects an author", ["history", "--author", "fil"], 0, /^NUMBER.*\n0 .*\n$/],
  [
    "history names the option for older revisions",
    ["history", "--before", "2", "--limit", "1"],
    0,
    /^NUMBER.*\n1 .*\nOlder revisions: add --before 1\n$/,
  ],
  ["history prints revisions as JSON", ["history", "--json"], 0, /^\[\n {2}\{\n {4}"number": 2,\n/],
  [
    "history shows the changes of one revision in the format of diff",
    ["history", "1"],
    0,
    /^Revision: +1\nTime: .*\nAuthor: +admin token\nChanges: +2 changed\n\n[\s\S]*~ services\/shop\n- +host: one\.example\n\+ +host: two\.example\n/,
  ],
  [
    "history shows the difference of two revisions, in the given direction",
    ["history", "2", "1"],
    0,
    /^From revision 2 to revision 1:\n\+ consumers\/ann\n[\s\S]*- +host: one\.example\n\+ +host: two\.example\n/,
  ],
  ["history prints a difference as YAML", ["history", "0", "1", "-o", "yaml"], 0, /^from: 0\nto: 1\ncreated: \[\]\n/],
  ["history states that two revisions are equal", ["history", "1", "1"], 0, /^From .*:\nno difference\n$/],
  ["history names an unknown revision", ["history", "77"], 1, /^there is no revision 77: `sluice history` lists/],
  [
    "history names unknown revisions of a difference",
    ["history", "1", "77"],
    1,
    /^there is no revision 1, or no .* 77:/,
  ],
  ["history refuses a text as a number", ["history", "last"], 2, /^expected the number of a revision, not 'last'$/],
  [
    "history refuses --limit with the number of a revision",
    ["history", "1", "--limit", "3"],
    2,
    /^--limit selects revisions of the list/,
  ],
  [
    "rollback requires a terminal or --yes",
    ["rollback", "1"],
    1,
    /^cannot ask without a terminal: confirm with --yes$/,
  ],
  ["rollback names an unknown revision", ["rollback", "77", "--yes"], 1, /answered 404: there is no revision 77: /],
];

for (const [does, words, code, output] of rows) {
  test(does, async () => {
    const [ended, printed] = await rig.run(words);
    assert.match(printed, output);
    assert.equal(ended, code);
  });
}

test("rollback shows the plan, restores the revision, and changes nothing the second time", async () => {
  const [code, printed] = await rig.run(["rollback", "1", "--yes"]);
  assert.equal(code, 0);
  assert.match(
    printed,
    /^\+ consumers\/ann\n[\s\S]*~ services\/shop\n[\s\S]*\nPlan: 1 to create, 2 to change, 0 to delete\.\n[\s\S]*\nrolled back: 1 created, 2 changed, 0 deleted\n$/,
  );
  assert.match(readFileSync(rig.file, "utf8"), /username: ann/);
  assert.match((await rig.run(["history", "--limit", "1"]))[1], /\n3 +\S+ +admin token +1 created, 2 changed\n/);
  const [again, unchanged] = await rig.run(["rollback", "1", "--yes"]);
  assert.deepEqual([again, unchanged], [0, "Plan: 0 to create, 0 to change, 0 to delete.\n"]);
});

const emptyPlan = { created: [], changed: [], deleted: [], requests: null };
const deletion = { ...emptyPlan, deleted: [{ collection: "consumers", id: "1", name: "ann", along: [] }] };

interface AnsweredRequest {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

/** Runs a command against an admin API that gives these answers in turn. */
async function runAgainst(context: TestContext, words: readonly string[], answers: readonly AnsweredRequest[]) {
  const rest = [...answers];
  const conditions: (string | undefined)[] = [];
  const admin = createServer(({ headers }, response) => {
    conditions.push(headers["if-match"]);
    const { status, headers: sent = {}, body } = rest.shift() ?? { status: 500, body: {} };
    response.writeHead(status, sent).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => admin.listen(0, "127.0.0.1", resolve));
  context.after(() => admin.close());
  const { port } = admin.address() as AddressInfo;
  const run = runCommandLine(words, { SLUICE_ADMIN_URL: `http://127.0.0.1:${port}` });
  return { run, conditions };
}

const planned: AnsweredRequest = { status: 200, headers: { etag: '"5"' }, body: deletion };

const failures: readonly (readonly [does: string, answers: readonly AnsweredRequest[], error: object])[] = [
  [
    "a store without revisions ends rollback with 3 and the reason",
    [{ status: 501, body: { message: "this store keeps no revisions" } }],
    { exitCode: 3, message: /answered 501: this store keeps no revisions$/ },
  ],
  [
    "a configuration that has changed since the plan is not rolled back",
    [planned, { status: 412, body: { message: "the configuration does not match If-Match" } }],
    { message: /^the configuration has changed since the plan, and nothing was written: plan again$/ },
  ],
  [
    "a rollback that another manager prevents names the manager and the option",
    [
      planned,
      { status: 409, body: { message: "Consumer a/ann: spec is managed by argo; make the change there", owners: [] } },
    ],
    {
      message: /answered 409: Consumer a\/ann: spec is managed by argo; make the change there$/,
      faults: ["to take over these fields, repeat the command with --force"],
    },
  ],
];

for (const [does, answers, error] of failures) {
  test(does, async (context) => {
    const { run } = await runAgainst(context, ["rollback", "4", "--yes"], answers);
    await assert.rejects(run, error);
  });
}

test("rollback sends the ETag of its plan, and warns of nodes that do not serve the change yet", async (context) => {
  const headers = { "x-sluice-programmed": "pending", "x-sluice-lagging": "10.0.0.1:8444" };
  const done = { status: 200, headers, body: deletion };
  const { run, conditions } = await runAgainst(context, ["rollback", "4", "--yes"], [planned, done]);
  const { code, warnings, progress } = await run;
  assert.deepEqual(progress, ["planning the rollback to revision 4", "writing the changes, and waiting for the nodes"]);
  assert.equal(code, 0);
  assert.deepEqual(conditions, [undefined, '"5"']);
  assert.deepEqual(warnings, [
    "the change is not served by all nodes yet, see `sluice status`; 10.0.0.1:8444 has an older configuration",
  ]);
});

test("a store without revisions ends history with 3", async (context) => {
  const { run } = await runAgainst(context, ["history"], [{ status: 501, body: { message: "none" } }]);
  await assert.rejects(run, { exitCode: 3 });
});
