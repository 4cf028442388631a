/** `sluice bench`: sends requests to one URL for a given time, and measures the responses. */
import { type Dispatcher, Pool } from "undici";
import { isLoopbackHost } from "../../../admin/access/browser-guard.ts";
import { defineCommand } from "../../command.ts";
import { formatData, formatTable, styledText } from "../../terminal/output.ts";
import { failureOf, givenProxyRequest, type ProxyRequest } from "./given-proxy-request.ts";
import { givenNumber } from "./given-request.ts";
import { generateLoad, LoadCounts, type LoadEnd, type LoadResponse } from "./load.ts";

/** The exit code if a request got no complete response. */
const INCOMPLETE = 3;

/** Milliseconds to wait for the head of a response, for each further part of its body, and for the last responses. */
const TIMEOUT = 10_000;

/** Milliseconds between two progress reports. */
const INTERVAL = 250;

/** Limits of options, so that a wrong number does not use up the machine. */
const limits = {
  connections: { minimum: 1, maximum: 10_000 },
  seconds: { minimum: 1, maximum: 86_400 },
  rate: { minimum: 1, maximum: 1_000_000 },
};

interface Measured {
  readonly url: string;
  readonly connections: number;
  readonly rate: number | null;
  readonly seconds: number;
  readonly responses: number;
  readonly responses_per_second: number;
  /** Milliseconds; null: there was no response. */
  readonly latencies: Readonly<Record<"p50" | "p90" | "p99" | "max", number | null>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** Error responses of the gateway itself; null: no response has a header of the gateway. */
  readonly refused: number | null;
  readonly errors: Readonly<Record<string, number>>;
  readonly unsent: number;
}

export const benchCommand = defineCommand({
  settings: {},
  ends: true,
  async run({ given, log, print, progress }) {
    const { output, ...options } = given.options;
    const request = await givenProxyRequest(given);
    const connections = givenNumber("connections", options.connections, limits.connections);
    const seconds = givenNumber("seconds", options.seconds, limits.seconds);
    const rate = options.rate === undefined ? null : givenNumber("rate", options.rate, limits.rate);
    const { url, tls } = request;
    if (!isLoopbackHost(url.hostname.replace(/^\[|\]$/g, "")))
      log.warn(
        `${url.origin} is not on this machine: the latencies include the network; send load only to servers that you operate`,
      );
    const pool = new Pool(url.origin, {
      connections,
      connect: tls,
      // One request at a time on each connection.
      allowH2: false,
      headersTimeout: TIMEOUT,
      bodyTimeout: TIMEOUT,
    });
    const send = senderOf(pool, request);
    const counts = new LoadCounts();
    const end = performance.now() + seconds * 1000;
    const report = () => {
      const work = performance.now() < end ? `measuring for ${seconds} s` : "waiting for the last responses";
      progress.show(`${work}: ${counts.responses} responses`);
    };
    const timer = setInterval(report, INTERVAL);
    try {
      // A wrong URL ends the command here, with one error instead of one for each request.
      await within(pool, TIMEOUT, send).catch((error: Error) => {
        throw failureOf(error, url);
      });
      const milliseconds = seconds * 1000;
      const ended = await within(pool, milliseconds + TIMEOUT, () =>
        generateLoad({ connections, milliseconds, rate, send }, counts),
      );
      const measured = { url: String(given.positionals[0]), connections, rate, ...figuresOf(counts, ended) };
      print(output === "yaml" || output === "json" ? formatData(output, measured) : measuredText(measured));
      if (ended.unsent > 0)
        log.warn(
          `${ended.unsent} requests were not sent, because no connection was free when they were due: raise --connections, or lower --rate`,
        );
      return counts.errors.size === 0 ? 0 : INCOMPLETE;
    } finally {
      clearInterval(timer);
      await pool.destroy();
    }
  },
});

/** Destroys the connections after the given time: a response that streams may never end. */
async function within<Result>(pool: Pool, milliseconds: number, work: () => Promise<Result>): Promise<Result> {
  const late = new Error(`the response is incomplete after ${TIMEOUT / 1000} s`);
  const timer = setTimeout(() => void pool.destroy(late), milliseconds);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a function that sends the request, and reads and discards the response. */
function senderOf(pool: Pool, { url, method, headers, body }: ProxyRequest): () => Promise<LoadResponse> {
  const sent: Dispatcher.DispatchOptions = { path: `${url.pathname}${url.search}`, method, headers, body };
  return () =>
    new Promise((resolve, reject) => {
      let head: LoadResponse = { status: 0, headers: {} };
      pool.dispatch(sent, {
        onRequestStart() {},
        onResponseStart(_controller, status, received) {
          head = { status, headers: received };
        },
        onResponseData() {},
        onResponseEnd: () => resolve(head),
        onResponseError: (_controller, error) => reject(error),
      });
    });
}

function figuresOf(counts: LoadCounts, { unsent, elapsed }: LoadEnd) {
  const { responses, latencies, attributed } = counts;
  const milliseconds = (microseconds: number) => (responses === 0 ? null : microseconds / 1000);
  return {
    seconds: Number((elapsed / 1000).toFixed(3)),
    responses,
    responses_per_second: Number(((responses * 1000) / elapsed).toFixed(1)),
    latencies: {
      p50: milliseconds(latencies.percentile(50)),
      p90: milliseconds(latencies.percentile(90)),
      p99: milliseconds(latencies.percentile(99)),
      max: milliseconds(latencies.max),
    },
    statuses: Object.fromEntries([...counts.statuses].sort(([one], [other]) => one - other)),
    refused: attributed === 0 ? null : counts.refused,
    errors: Object.fromEntries(counts.errors),
    unsent,
  };
}

function measuredText(measured: Measured): string {
  const {
    responses,
    responses_per_second: perSecond,
    seconds,
    latencies,
    statuses,
    refused,
    errors,
    unsent,
  } = measured;
  const durations = Object.entries(latencies).map(
    ([name, duration]) => `${name} ${duration === null ? "-" : `${duration.toFixed(2)} ms`}`,
  );
  const facts = [
    `Responses:  ${responses} in ${seconds} s, ${styledText("bold", `${perSecond}/s`)}`,
    `Latency:    ${durations.join(", ")}`,
    `Refused:    ${refused ?? "unknown: the responses do not name the gateway"}`,
    ...(unsent === 0 ? [] : [styledText("yellow", `Not sent:   ${unsent}`)]),
  ];
  const rows = [
    ...Object.entries(statuses).map(([status, count]) => [status, String(count)]),
    ...Object.entries(errors).map(([reason, count]) => [reason, String(count)]),
  ];
  return `${facts.join("\n")}\n\n${formatTable([["STATUS OR ERROR", "REQUESTS"], ...rows])}`;
}
