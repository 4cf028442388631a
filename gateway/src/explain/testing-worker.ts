/** A worker with an upstream that returns the requests that it receives, for the tests of explanations. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  applyChange,
  checkDocument,
  type DocumentListener,
  type Explanation,
  NODE_ENDPOINT_ID,
  nodePaths,
  readExplainRequest,
} from "@sluice/model";
import type { Counters } from "@sluice/plugin-sdk";
import { freePort } from "../../../tools/process/index.ts";
import { ThreadConcurrency } from "../counters/concurrency.ts";
import { createCounters } from "../counters/create-counters.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { connectBehind } from "../outbound/connect.ts";
import { createGuard } from "../outbound/guard.ts";
import { createCaches } from "../plugin-caches/create-caches.ts";
import { defaultProxySettings } from "../proxy/settings.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { type RunningWorker, startWorker, type WorkerOptions } from "../workers/worker.ts";

/** The upstream's response as JSON: the request that arrived. */
export interface EchoedRequest {
  readonly method: string;
  readonly url: string;
  /** A flat list: name, value, name, value. */
  readonly headers: readonly string[];
  /** The address at which the request arrived. */
  readonly address: string;
}

export interface ExplainRig extends AsyncDisposable {
  readonly worker: RunningWorker;
  /** Port of the proxy. */
  readonly port: number;
  /**
   * Port of the upstream, which listens on all addresses of 127.0.0.0/8. It responds after as many
   * milliseconds as the header `x-delay` says.
   */
  readonly upstreamPort: number;
  /** Ports of the proxy for listeners of the document. */
  readonly listenerPorts: readonly number[];
  /** Lines of the worker's log. */
  readonly log: readonly string[];
  /** The clock of plugins, in Unix milliseconds. */
  clock: number;
  /** How often a counter was changed. */
  readonly takes: () => number;
  /** The number of requests that the upstream received. */
  readonly received: () => number;
  /** The request that the upstream received last; null: none. */
  readonly last: () => EchoedRequest | null;
  /** @param listeners Listeners of Gateways, on ports in `listenerPorts`. Default: none. */
  serve(document: object, listeners?: readonly DocumentListener[]): void;
  /** Rejects if the description is invalid, or the response is not an explanation. */
  explain(described: object): Promise<Explanation>;
}

export interface ExplainRigOptions {
  /** Members of the plan. */
  readonly plan?: Partial<WorkerOptions["plan"]>;
  /** The headers of the upstream's response. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

export const START = Date.UTC(2026, 0, 1);

export async function startExplainRig({ plan, responseHeaders = {} }: ExplainRigOptions = {}): Promise<ExplainRig> {
  let received = 0;
  let last: EchoedRequest | null = null;
  let takes = 0;
  const log: string[] = [];
  const upstream = createServer((incoming, outgoing) => {
    received++;
    incoming.resume().once("end", () => {
      const { method = "", url = "", rawHeaders: headers } = incoming;
      last = { method, url, headers, address: incoming.socket.localAddress ?? "" };
      const body = JSON.stringify(last);
      setTimeout(
        () =>
          outgoing.writeHead(200, { "content-type": "application/json", "x-echo": "1", ...responseHeaders }).end(body),
        Number(incoming.headers["x-delay"] ?? 0),
      );
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "0.0.0.0", resolve));
  const settings = {
    ...defaultProxySettings,
    version: "1.2.3",
    allowedUpstreams: ["127.0.0.0/8"],
    cleartextHttp2: true,
  };
  const write = (details: object, message: string) => void log.push(`${message} ${JSON.stringify(details)}`);
  const now = () => rig.clock;
  const guard = createGuard(settings);
  const shared = {
    warn: (message: string, facts: object) => write(facts, message),
    connect: connectBehind(guard),
    now,
  };
  const counters = createCounters(shared);
  const caches = createCaches({ ...shared, memory: gatewaySettings.cacheMemory.default });
  const counting: Counters = {
    incrementBelowLimit(...given) {
      takes++;
      return counters.incrementBelowLimit(...given);
    },
    addAmount(wanted, amount, options) {
      if (amount > 0) takes++;
      return counters.addAmount(wanted, amount, options);
    },
    fillBuckets(...given) {
      takes++;
      return counters.fillBuckets(...given);
    },
    bucketLevels: (...given) => counters.bucketLevels(...given),
    close: () => counters.close(),
  };
  const worker = await startWorker({
    plan: {
      engine: "http1",
      listen: { host: "127.0.0.1", port: 0 },
      listenTls: null,
      listenStreams: [],
      settings,
      observers: { accessLog: null, tracing: null },
      plugins: [],
      authorities: [],
      vaultVariables: [],
      slowRequest: gatewaySettings.slowRequest.default,
      cacheMemory: gatewaySettings.cacheMemory.default,
      ...plan,
    },
    reusePort: false,
    guard,
    log: { info: write, warn: write, error: write },
    services: {
      counters: counting,
      concurrency: new ThreadConcurrency(),
      caches,
      metrics: createMetrics({ compat: false, nodeId: "test", version: "1.2.3" }),
      now,
    },
  });
  const listenerPorts = [await freePort(), await freePort()];
  assert.deepEqual(await worker.proxy.openPorts(listenerPorts.map((port) => ({ port, protocol: "http" }))), []);
  const rig: ExplainRig = {
    worker,
    listenerPorts,
    port: worker.proxy.address.port,
    upstreamPort: (upstream.address() as AddressInfo).port,
    log,
    clock: START,
    takes: () => takes,
    received: () => received,
    last: () => last,
    serve(document, listeners = []) {
      const { value, violations } = checkDocument({ _format_version: "3.0", ...document });
      assert.deepEqual(violations, undefined, JSON.stringify(document));
      if (value === undefined) return;
      const named = Object.fromEntries(listeners.map((listener) => [listener.name, listener]));
      const applied = applyChange(value.snapshot, { put: {}, remove: {}, listeners: named });
      assert.deepEqual(applied.violations, undefined);
      if (applied.value) worker.swap(applied.value);
    },
    async explain(described) {
      const { value: body, violations } = readExplainRequest(described);
      assert.deepEqual(violations, undefined);
      const response = await worker.askPlugin(NODE_ENDPOINT_ID, {
        method: "GET",
        path: [nodePaths.explain],
        query: {},
        body,
      });
      assert.equal(response?.status, 200, JSON.stringify(response));
      return response?.body as Explanation;
    },
    async [Symbol.asyncDispose]() {
      await worker.close({ deadline: 0 });
      caches.close();
      await counters.close();
      upstream.closeAllConnections();
      await new Promise((resolve) => upstream.close(resolve));
    },
  };
  return rig;
}
