import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeContext } from "../../../../test/plugins/fake-exchange.ts";
import { DatagramQueue } from "./datagram-queue.ts";
import { EntryMemory, StoredBatch } from "./entry-memory.ts";
import { fixedQueueSettings } from "./queue-settings.ts";

test("a datagram that could not be sent is sent again with the same bytes, although other queues use the buffers meanwhile", async () => {
  const sent: string[] = [];
  const memory = new EntryMemory();
  for (const text of ["other-1", "other-2"]) memory.add(text, text.length);
  const others = new StoredBatch([memory.take(), memory.take()]);
  const datagrams = () => ({
    async send(data: Buffer) {
      sent.push(String(data));
      if (sent.length > 1) return;
      // Another queue joins a batch once this attempt has failed.
      setImmediate(() => void others.join(","));
      throw new Error("no route");
    },
    close() {},
  });
  const context = fakeContext();
  const { log, timers, network } = context;
  const settings = {
    ...fixedQueueSettings,
    max_batch_size: 2,
    max_coalescing_delay: 1,
    max_retry_time: 60,
    initial_retry_delay: 0.01,
  };
  const queue = new DatagramQueue(
    { host: "127.0.0.1", port: 9 },
    { log, timers, counterMetric: (metric) => context.counterMetric(metric), network: { ...network, datagrams } },
    { settings },
  );
  for (const text of ["mine-1,", "mine-2"]) queue.add(text);
  for (let turn = 0; sent.length < 2 && turn < 1e6; turn++) await new Promise(setImmediate);
  await queue.close();
  assert.deepEqual(sent, ["mine-1,mine-2", "mine-1,mine-2"]);
});
