/**
 * `@sluice/plugin-sdk/testing`: a gateway for the tests of plugins. It runs the proxy of a node in the process of the
 * test, in front of an upstream that the test may define. tools/pack adds this gateway to the package of the SDK.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { checkDocument, describeViolation, factsFaults, pluginNamed, registerPlugins } from "@sluice/model";
import type { PluginDefinition } from "@sluice/plugin-sdk";
import { builtInPlugins } from "@sluice/plugins";
import { compile } from "../compile/compile.ts";
import { ThreadConcurrency } from "../counters/concurrency.ts";
import { createCounters } from "../counters/create-counters.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { connectBehind } from "../outbound/connect.ts";
import { datagramsBehind } from "../outbound/datagrams.ts";
import { createGuard } from "../outbound/guard.ts";
import { createCaches } from "../plugin-caches/create-caches.ts";
import { createHttp1Proxy } from "../proxy/http1/listener.ts";
import { httpClientsBehind } from "../proxy/http1/plugin-client/http-client.ts";
import { defaultProxySettings } from "../proxy/settings.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { sluiceVersion } from "../settings/version.ts";
import { PluginLifecycle } from "../workers/plugin-lifecycle.ts";
import { TestClock } from "./test-clock.ts";
import type { LogLine, TestGateway, TestGatewayOptions } from "./types.ts";

export { leaksNothing } from "./leaks.ts";
export type * from "./types.ts";

/**
 * Starts a gateway with one instance of the plugin.
 *
 * Rejects with a TypeError that lists all faults if the plugin's facts are invalid, and with an Error if a config is
 * invalid.
 */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const { plugin, upstream: listener = echo } = options;
  register(plugin);
  const log: LogLine[] = [];
  const write = (level: LogLine["level"]) => (details: object, message: string) =>
    void log.push({ level, message, details });
  const logger = { info: write("info"), warn: write("warn"), error: write("error") };
  const clock = new TestClock(options.now ?? Date.now());
  const { now, startTimer } = clock;
  const settings = { ...defaultProxySettings, version: sluiceVersion, allowedUpstreams: ["127.0.0.0/8"] };
  const guard = createGuard(settings);
  const connect = connectBehind(guard);
  const redis = { connect, warn: (message: string, facts: object) => logger.warn(facts, message), now };
  const counters = createCounters(redis);
  const caches = createCaches({ ...redis, memory: gatewaySettings.cacheMemory.default });
  const metrics = createMetrics({ compat: false, nodeId: "test", version: sluiceVersion });
  const upstream = await listen(listener);
  const { port } = upstream.address() as AddressInfo;
  const vault = { allowed: [], variables: {} };
  const tools = {
    plugins: new Map([...builtInPlugins, plugin].map((one) => [one.name, one])),
    services: {
      counters,
      concurrency: new ThreadConcurrency(),
      caches,
      metrics,
      operations: { record() {} },
      now,
      startTimer,
      connect,
      openHttpClient: httpClientsBehind(connect),
      datagrams: datagramsBehind(guard),
      vault,
      log: logger,
    },
  };
  const snapshotWith = (config: object | undefined) => {
    const { value, violations } = checkDocument(documentOf(options, config, port));
    if (value) return value.snapshot;
    throw new Error(violations.map(describeViolation).join("\n"));
  };
  const closeServices = async () => {
    caches.close();
    await Promise.all([counters.close(), closeServer(upstream)]);
  };
  try {
    const instances = new PluginLifecycle();
    let runtime = compile(null, snapshotWith(options.config), tools);
    instances.replaced(null, runtime);
    const proxy = await createHttp1Proxy({
      listen: { host: "127.0.0.1", port: 0 },
      guard,
      settings,
      log: logger,
      runtime: () => runtime,
    });
    const url = `http://127.0.0.1:${proxy.address.port}`;
    const close = async () => {
      await proxy.close({ deadline: 0 });
      await instances.close(runtime);
      await closeServices();
    };
    return {
      url,
      log,
      fetch: (path, init) => fetch(url + path, init),
      async configure(config) {
        const previous = runtime;
        runtime = compile(previous, snapshotWith(config), tools);
        instances.replaced(previous, runtime);
      },
      advance: (milliseconds) => clock.advance(milliseconds),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await closeServices();
    throw error;
  }
}

const definitions = new Map<string, PluginDefinition>();

/** A process can register only one definition of each name. */
function register(plugin: PluginDefinition): void {
  if (definitions.get(plugin.name) === plugin) return;
  const faults = factsFaults({ ...plugin });
  if (typeof plugin.phases !== "function") faults.push("phases: expected a function (config, context) => phases");
  if (pluginNamed(plugin.name) !== undefined)
    faults.push(`name: the process has another plugin ${plugin.name}: test one definition of a name in each process`);
  if (faults.length > 0) throw new TypeError(`the plugin ${plugin.name} is invalid:\n${faults.join("\n")}`);
  registerPlugins([plugin]);
  definitions.set(plugin.name, plugin);
}

const documentOf = (
  { plugin, plugins = [], consumers = [] }: TestGatewayOptions,
  config: object | undefined,
  port: number,
): object => ({
  _format_version: "3.0",
  services: [{ name: "upstream", host: "127.0.0.1", port, routes: [{ name: "route", paths: ["/"] }] }],
  plugins: [{ name: plugin.name, ...(config && { config }) }, ...plugins],
  consumers: consumers.map(({ username, keys = [], credentials = [] }) => ({
    username,
    keyauth_credentials: keys.map((key) => ({ key })),
    plugin_credentials: credentials.map((credential) => ({ plugin: plugin.name, ...credential })),
  })),
});

const echo: RequestListener = ({ method, url, headers }: IncomingMessage, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ method, path: url, headers }));
};

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
