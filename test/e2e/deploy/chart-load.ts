/** Checks the result of load on the release: the client's report, and the requests that the upstreams received. */
import assert from "node:assert/strict";
import { waitFor } from "../../../tools/process/index.ts";
import type { ChartScene } from "./chart-scene.ts";

export type CallerLoad = Awaited<ReturnType<Awaited<ReturnType<ChartScene["callers"]["load"]>>>>;

export const chartLoadText = ({
  statuses,
  slowest,
  failures,
  failedFrom,
  refused,
  repeated,
  connections,
}: CallerLoad): string =>
  `${JSON.stringify(statuses)} answered within ${slowest} ms, ${JSON.stringify(failures)} failed` +
  `${failedFrom ? ` that were sent from ${failedFrom.join(" to ")}` : ""}, ${refused.length} connections were refused; ` +
  `${repeated.length} of ${connections} keep-alive connections ended before any byte of a response: ` +
  "those requests were sent again";

/**
 * Asserts that there were more than 100 requests, all answered 200, and that no connection was refused. A node that
 * stops closes each of its connections once, so at most one request per connection is sent again.
 */
export function allAnswered(load: CallerLoad, { connectionsEnded, meanwhile }: AllAnsweredOptions): void {
  const { statuses, failures, refused, repeated } = load;
  assert.deepEqual([failures, refused], [{}, []], `${chartLoadText(load)}\n${meanwhile}`);
  assert.deepEqual(Object.keys(statuses), ["200"]);
  assert.ok(Number(statuses["200"]) > 100, `only ${statuses["200"]} requests`);
  assert.ok(repeated.length <= connectionsEnded, chartLoadText(load));
}

interface AllAnsweredOptions {
  /** The maximum number of keep-alive connections that stopping nodes have closed. */
  readonly connectionsEnded: number;
  /** Added to the message of a failure: what happened during the load, such as the operator's log. */
  readonly meanwhile: string;
}

/**
 * Asserts that the upstream received each request once. A request may be sent again only if the node had not read it;
 * then its method does not matter (RFC 9110, 9.2.2).
 */
export function eachSeenOnce({ statuses, repeated }: CallerLoad, seen: readonly { readonly id: string }[]): void {
  const byId = Map.groupBy(seen, ({ id }) => id);
  const twice = [...byId].filter(([, all]) => all.length > 1);
  assert.deepEqual(twice, [], `requests arrived more than once; the client sent again: ${repeated}`);
  assert.equal(byId.size, statuses["200"]);
}

/** Resolves to the load's requests in the logs of the user API's pods, which log each request that they answer. */
export async function answeredByUsers({ kubectl, podsOf }: ChartScene, { name, statuses }: CallerLoad) {
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
