/** Processes that are killed during a push, and servers that only pretend to be nodes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Process, waitFor } from "../../../tools/process/index.ts";
import { getUrl } from "../../product/client.ts";
import { causePush, changeDuringFault } from "./change-during-fault.ts";
import { type FalseNode, startFalseNode } from "./false-node.ts";
import { type FaultEnvironment, startFaultEnvironment } from "./fault-environment.ts";
import { type PushLine, startPushLine } from "./push-line.ts";

let environment: FaultEnvironment;
let line: PushLine;
let falseNode: FalseNode;
before(async () => {
  environment = await startFaultEnvironment({
    async through([first, second], certificates) {
      line = await startPushLine(second.push);
      falseNode = await startFalseNode(certificates);
      return [first.push, line.url, falseNode.url];
    },
  });
});
after(async () => {
  await environment?.close();
  line?.close();
  await falseNode?.close();
});

/**
 * Causes pushes until the process is killed: a PushLine does not recognize a push that is the first request on its
 * connection.
 */
const untilKilled = (process: Process) =>
  waitFor(
    async () => {
      if (process.exit()) return true;
      await causePush(environment);
      return false;
    },
    { what: `${process.name} to be killed during a push`, interval: 1000 },
  );

const isReady = (status: string) =>
  waitFor(async () => (await getUrl(`${status}/status/ready`)).status === 200, { what: "the node to be ready" });

for (const bytes of [0, 400]) {
  test(`changes take effect although the operator was killed with SIGKILL when ${bytes} bytes of a chunk of its push had been forwarded`, () =>
    changeDuringFault(environment, {
      async fault(change) {
        const { process } = environment.operator;
        line.atNextPush(bytes, () => process.kill9());
        await change();
        await untilKilled(process);
        await environment.operator.start();
      },
    }));
}

for (const after of [0, 5, 20]) {
  test(`changes take effect although a node was killed with SIGKILL ${after} ms after it got a push`, () =>
    changeDuringFault(environment, {
      loaded: [0],
      async fault(change) {
        const [, second] = environment.nodes;
        const { process } = second;
        line.atNextPush(Number.POSITIVE_INFINITY, () => void setTimeout(() => process.kill9(), after));
        await change();
        await untilKilled(process);
        await second.start();
        await isReady(second.status);
      },
    }));
}

const lies: readonly (readonly [what: string, answer: FalseNode["answer"]])[] = [
  ["text that is not JSON", { body: "<html>Welcome to nginx!</html>" }],
  ["JSON of an unexpected shape", { body: '{"hello":"world"}' }],
  ["JSON with invalid numbers", { body: '{"node":"x","hash":null,"revision":"many","term":-1,"version":"1"}' }],
  ["a JSON list", { body: "[]" }],
  ["null", { body: "null" }],
  ["the status 500 and a stack trace", { status: 500, body: "Error: oops\n    at x" }],
  ["an endless response", { endless: true }],
  ["half a response", { body: '{"node":"', cut: true }],
];
for (const [what, answer] of lies)
  test(`a node that answers with ${what} is reported with its address and as silent, delays no other node, and does not fill the operator's memory`, async () => {
    await changeDuringFault(environment, {
      async fault(change) {
        falseNode.answer = answer;
        await waitFor(() => falseNode.asked(answer), { what: "the operator to poll the false node" });
        await change();
      },
    });
    const { nodes, acknowledged } = await environment.operator.status();
    const trouble = nodes.find(({ address }) => address === falseNode.url)?.trouble;
    assert.ok(trouble, "the false node's error is not reported");
    assert.equal(acknowledged.length, 2);
    assert.equal(await environment.operator.metric("sluice_operator_nodes", 'state="silent"'), 1);
    const { rss } = await memory();
    assert.ok(rss < 400e6, `${rss} bytes`);
  });

async function memory(): Promise<{ readonly rss: number }> {
  return { rss: await environment.operator.metric("process_resident_memory_bytes") };
}
