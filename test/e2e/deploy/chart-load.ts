/** Checks the result of load on the release: the client's report, and the requests that the upstreams received. */
import assert from "node:assert/strict";
import { waitFor } from "../../../tools/process/index.ts";
import type { Scene } from "./chart-scene.ts";

export type Loaded = Awaited<ReturnType<Awaited<ReturnType<Scene["callers"]["load"]>>>>;

export const wordsOf = ({ statuses, slowest, failures, failedFrom, refused, repeated, connections }: Loaded): string =>
  `${JSON.stringify(statuses)} answered within ${slowest} ms, ${JSON.stringify(failures)} failed` +
  `${failedFrom ? ` that were sent from ${failedFrom.join(" to ")}` : ""}, ${refused.length} connections were refused; ` +
  `${connections} connections were kept, of which ${repeated.length} ended under a request before any byte of its answer: ` +
  "that was sent again";

/**
 * A node that stops closes each of its connections once; at most one request per connection is affected.
 *
 * @param meanwhile Added to the message of a failure, such as: without a leader, nodes learn of no new or removed pod
 */
export function allAnswered(load: Loaded, { connectionsEnded, meanwhile }: AllAnsweredOptions): void {
  const { statuses, failures, refused, repeated } = load;
  assert.deepEqual([failures, refused], [{}, []], `${wordsOf(load)}\n${meanwhile}`);
  assert.deepEqual(Object.keys(statuses), ["200"]);
  assert.ok(Number(statuses["200"]) > 100, `only ${statuses["200"]} requests`);
  assert.ok(repeated.length <= connectionsEnded, wordsOf(load));
}

interface AllAnsweredOptions {
  readonly connectionsEnded: number;
  readonly meanwhile: string;
}

/** The retried request had not been read, so it may be sent again, whatever its method (RFC 9110, 9.2.2). */
export function eachSeenOnce({ statuses, repeated }: Loaded, seen: readonly { readonly id: string }[]): void {
  const byId = Map.groupBy(seen, ({ id }) => id);
  const twice = [...byId].filter(([, all]) => all.length > 1);
  assert.deepEqual(twice, [], `came more than once; sent again were ${repeated}`);
  assert.equal(byId.size, statuses["200"]);
}

/** The load's requests that the user API's pods have logged: those that they have answered. */
export async function answeredByUsers({ kubectl, podsOf }: Scene, { name, statuses }: Loaded) {
  const logged = async () => {
    const logs = await Promise.all((await podsOf("user-api")).map((pod) => kubectl("logs", pod)));
    const lines = logs.flatMap((log) => log.split("\n")).filter((line) => line.includes(`"requestId":"${name}.`));
    return lines.map((line): { readonly id: string } => ({ id: JSON.parse(line).requestId }));
  };
  // The kubelet writes logs with a delay.
  const all = async () => {
    const answered = await logged();
    return answered.length >= Number(statuses["200"]) && answered;
  };
  return waitFor(all, { what: "the user API to have logged all responses", timeout: 20_000, interval: 500 });
}
