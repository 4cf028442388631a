/** The differential test: an explanation says what the proxy then does with the request. */
import assert from "node:assert/strict";
import type { DocumentListener, Explanation } from "@sluice/model";
import fc from "fast-check";
import { type ClientResponse, describedRequest, RandomRequestClient } from "./testing-client.ts";
import {
  explainedDocuments,
  type RandomRequest,
  ROUTE_HEADER,
  randomListeners,
  randomRequests,
} from "./testing-documents.ts";
import { type ExplainRig, startExplainRig } from "./testing-worker.ts";

export interface DifferentialOptions {
  /** The number of documents. */
  readonly documents: number;
  readonly seed: number;
}

/**
 * The number of requests, by status (`forwarded` for those that the upstream answered), and of those with a listener, a
 * consumer, or plugins with a scope.
 */
export type DifferentialTally = ReadonlyMap<string, number>;

/** The number of requests for each document. */
export const REQUESTS = 10;

const MINUTE = 60_000;

/** Rejects with the counterexample, and with the seed and the path from which fast-check reproduces it. */
export async function explainsAsTheProxyDoes(options: DifferentialOptions): Promise<DifferentialTally> {
  await using rig = await startExplainRig({ responseHeaders: { "X-Kong-Limit": "video=1" } });
  using client = new RandomRequestClient(rig);
  const tally = new Map<string, number>();
  const list = fc.array(randomRequests, { minLength: REQUESTS, maxLength: REQUESTS });
  const check = async (
    document: object,
    all: readonly DocumentListener[],
    sent: readonly RandomRequest[],
  ): Promise<void> => {
    // A new minute begins, so that counters of the previous document do not apply.
    rig.clock += MINUTE;
    rig.serve(document, all);
    for (const request of sent) {
      for (const kind of await compare(rig, client, request)) tally.set(kind, (tally.get(kind) ?? 0) + 1);
    }
    assert.equal(rig.worker.runtime().exchanges.open, 0);
  };
  const property = fc.asyncProperty(
    explainedDocuments(rig.upstreamPort),
    randomListeners(rig.listenerPorts),
    list,
    check,
  );
  await fc.assert(property, { numRuns: options.documents, seed: options.seed });
  return tally;
}

/** Explains the request and sends it. Returns its keys in the tally. */
async function compare(
  rig: ExplainRig,
  client: RandomRequestClient,
  request: RandomRequest,
): Promise<readonly string[]> {
  const described = describedRequest(request, rig);
  const before = [rig.takes(), rig.received()];
  const explanation = await rig.explain(described);
  for (let again = 1; again < request.explained; again++)
    assert.deepEqual(repeatable(await rig.explain(described)), repeatable(explanation));
  assert.deepEqual([rig.takes(), rig.received()], before, "an explanation counts and sends nothing");
  assert.equal(explanation.unknown, null);

  const received = rig.received();
  const response = await client.send(request);
  assert.equal(explanation.route?.name, response.headers[ROUTE_HEADER]);
  const chosen = explanation.candidates.filter(({ result }) => result === "chosen");
  assert.deepEqual(
    chosen.map(({ route }) => route),
    explanation.route === null ? [] : [explanation.route],
  );
  if (rig.received() === received) {
    compareResponse(explanation, response);
    return [String(response.status), ...featuresOf(explanation)];
  }
  assert.equal(explanation.response, null);
  compareForwarded(explanation, request, rig);
  return ["forwarded", ...featuresOf(explanation)];
}

const featuresOf = ({ listener, consumer, plugins }: Explanation): readonly string[] => [
  ...(listener === null ? [] : ["listener"]),
  ...(consumer === null ? [] : ["consumer"]),
  ...new Set(
    plugins.flatMap(({ scope, result }) => (result === "ran" ? Object.keys(scope).map((kind) => `of a ${kind}`) : [])),
  ),
];

/** Headers that differ for each request, and those of the connection. */
const unstable = /^(?:x-sluice-.*|connection|keep-alive|transfer-encoding|date|x-trace|x-one)$/;

function repeatable(explanation: Explanation): object {
  const { response, upstream } = explanation;
  const stable = (headers: readonly (readonly [string, string])[]) =>
    headers.filter(([name]) => !unstable.test(name.toLowerCase()));
  return {
    ...explanation,
    upstream: upstream && { ...upstream, headers: stable(upstream.headers) },
    response: response && { ...response, headers: stable(response.headers), body: withoutId(response.body) },
  };
}

const withoutId = (body: string): string => body.replaceAll(/[\da-f]{32}/g, "ID");

function compareResponse({ response, upstream }: Explanation, sent: ClientResponse): void {
  assert.equal(upstream, null);
  assert.equal(response?.status, sent.status);
  const expected = valuesByName(response?.headers ?? []);
  const actual = valuesByName(
    Object.entries(sent.headers).flatMap(([name, values]) =>
      [values ?? []].flat().map((value) => [name, value] as const),
    ),
  );
  assert.deepEqual(expected, actual);
  assert.equal(withoutId(response?.body ?? ""), withoutId(sent.body));
}

function compareForwarded({ upstream }: Explanation, { http_version }: RandomRequest, rig: ExplainRig): void {
  const echoed = rig.last();
  assert.ok(echoed);
  assert.ok(upstream);
  assert.equal(upstream.method, echoed.method);
  const url = new URL(upstream.url.replace("(hidden)", ""));
  assert.equal(url.protocol, "http:");
  const [sentTarget = ""] = [upstream.url.slice(upstream.url.indexOf("/", "http://".length))];
  const hidden = sentTarget.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\(hidden\\)", "[^&]*");
  assert.match(echoed.url, new RegExp(`^${hidden}$`));
  const arrived = Array.from({ length: echoed.headers.length / 2 }, (_, at) => {
    return [echoed.headers[2 * at] ?? "", echoed.headers[2 * at + 1] ?? ""] as const;
  });
  const hiddenNames = new Set(
    upstream.headers.flatMap(([name, value]) => (value === "(hidden)" ? [name.toLowerCase()] : [])),
  );
  const withoutHidden = (headers: readonly (readonly [string, string])[]) =>
    headers.map(([name, value]) => [name, hiddenNames.has(name.toLowerCase()) ? "" : value] as const);
  // With several targets, the Host of each may be its own name.
  if (upstream.headers.some(([, value]) => value === "(the target's)")) hiddenNames.add("host");
  // The URL of an HTTP/2 request has no room for the port of the listener.
  if (http_version === "2") hiddenNames.add("x-forwarded-port");
  assert.deepEqual(valuesByName(withoutHidden(upstream.headers)), valuesByName(withoutHidden(arrived)));
  if (upstream.target !== null) assert.equal(upstream.target, `${echoed.address}:${rig.upstreamPort}`);
}

/** The ids of correlation-id. */
const generatedId = /^[\da-f-]{36}#\d+$/;

const ofRequest = /^(?:x-sluice-request-id|connection|keep-alive|transfer-encoding|date|x-sluice-.*-latency)$/;

/** Sorted values by lower-case name, without those that differ for each request. */
function valuesByName(headers: readonly (readonly [name: string, value: string])[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (ofRequest.test(lower) || generatedId.test(value)) continue;
    found[lower] = lower in found ? `${found[lower]}, ${value}` : value;
  }
  return found;
}
