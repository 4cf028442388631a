/** A publisher to many fake nodes, on a fake clock. */
import type { TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { ConnectNode } from "./node-client.ts";
import { createPublisher, type Publisher } from "./publisher.ts";

export interface TestPublisher {
  readonly publisher: Publisher;
  readonly addresses: readonly string[];
  /** Gives pending work eight turns of the event loop, without advancing the clock. */
  settle(): Promise<void>;
  /** Advances the clock in steps (default 100 ms), and settles after each step. */
  pass(milliseconds: number, step?: number): Promise<void>;
}

/** A publisher that leads in term 1 and has `count` nodes, which are removed at the end of the test. */
export async function testPublisher(t: TestContext, count: number, connect: ConnectNode): Promise<TestPublisher> {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const publisher = createPublisher({ connect, term: () => 1, onHigherTerm() {}, onChange() {}, now: () => now });
  const addresses = Array.from({ length: count }, (_, at) => `http://node-${at}`);
  const settle = async () => {
    for (let round = 0; round < 8; round++) await turn();
  };
  publisher.setNodes(addresses);
  t.after(() => publisher.setNodes([]));
  await settle();
  return {
    publisher,
    addresses,
    settle,
    async pass(milliseconds, step = 100) {
      for (let left = milliseconds; left > 0; left -= step) {
        now += Math.min(step, left);
        t.mock.timers.tick(Math.min(step, left));
        await settle();
      }
    },
  };
}
