/** The test rig of the engine suite: upstreams, a proxy in front of them, and active health checks. */

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import type { TestContext } from "node:test";
import type {
  AcmeChallenge,
  CredentialCollection,
  DocumentListener,
  ServiceEndpoint,
  Snapshot,
  SnapshotPlugin,
  SnapshotRoute,
  SnapshotService,
} from "@sluice/model";
import type { PluginFacts, PluginPhases } from "@sluice/plugin-sdk";
import { createClientVerifier } from "@sluice/plugins";
import { builtInFacts } from "@sluice/plugins/schemas";
import { ActiveHealthChecks } from "../../../gateway/src/balance/active-checks.ts";
import type { Balancer } from "../../../gateway/src/balance/balancer.ts";
import { targetOf, upstreamNamed } from "../../../gateway/src/balance/testing.ts";
import { compile } from "../../../gateway/src/compile/compile.ts";
import {
  caCertificateOf,
  certificateNamed,
  orderedCertificate,
  pluginEntityNamed,
  routeNamed,
  serviceNamed,
  snapshotOfEntities,
} from "../../../gateway/src/compile/testing-entities.ts";
import { connectBehind } from "../../../gateway/src/outbound/connect.ts";
import { createGuard } from "../../../gateway/src/outbound/guard.ts";
import type { WorkerServices } from "../../../gateway/src/plugin-services/instance-context.ts";
import type { CreateProxy, PipelineOptions, ProxyListener } from "../../../gateway/src/proxy/engine.ts";
import { defaultProxySettings, type ProxySettings } from "../../../gateway/src/proxy/settings.ts";
import { createProbe } from "../../../gateway/src/proxy/upstream/probe.ts";
import type { KeyPair } from "../../../tools/programs/certificates.ts";

/** The engine under test. */
export interface Engine {
  readonly name: string;
  readonly createProxy: CreateProxy;
}

export interface RigOptions {
  /** The upstream's port, or a handler for it. */
  readonly upstream?: number | RequestListener;
  readonly service?: Partial<SnapshotService>;
  /** Services beside that of the upstream. */
  readonly services?: readonly SnapshotService[];
  /** Members of the route; by default it has the path `/`. */
  readonly route?: Partial<SnapshotRoute>;
  /** Members of further routes, by name. */
  readonly routes?: Readonly<Record<string, Partial<SnapshotRoute>>>;
  /** Listeners of the document. Their ports are open only after `proxy.openPorts`. */
  readonly listeners?: readonly DocumentListener[];
  /** The certificates of these listeners, by the name of the listener. */
  readonly listenerCertificates?: Readonly<Record<string, KeyPair>>;
  /** Whether the node's own listeners for connections that are not HTTP use TLS, in this order. Default: none. */
  readonly streamListeners?: readonly ("plain" | "tls")[];
  readonly endpoints?: readonly ServiceEndpoint[];
  /** An upstream entity that the service's host names. */
  readonly pool?: Pool;
  /** Certificates by server name; with them the rig also listens with TLS. */
  readonly certificates?: Readonly<Record<string, KeyPair>>;
  /** Pending challenges of a certificate that is ordered, and not issued yet. */
  readonly challenges?: readonly AcmeChallenge[];
  /** CA certificates in PEM; `caCertificateOf` computes their ids. */
  readonly authorities?: readonly string[];
  readonly settings?: Partial<ProxySettings>;
  /** Consumers and their credentials. */
  readonly identities?: Partial<Pick<Snapshot, "consumers" | CredentialCollection>>;
  /** Stand-ins for the plugins with these names; each applies globally by default. */
  readonly plugins?: Readonly<Record<string, PluginPhases>>;
  /** Members of all these plugins. */
  readonly pluginMembers?: Partial<SnapshotPlugin>;
  /** Default: requests are not observed. */
  readonly observer?: PipelineOptions["observer"];
}

export interface Pool {
  /** Members of the upstream. */
  readonly upstream?: object;
  /** Weights by address. */
  readonly targets: Readonly<Record<string, number>>;
}

export interface Rig {
  readonly port: number;
  /** The balancer of the pool. */
  readonly balancer: () => Balancer;
  /** 0 without certificates. */
  readonly tlsPort: number;
  readonly proxy: ProxyListener;
  /** Log lines of the proxy: message and details. */
  readonly log: readonly { readonly message: string; readonly details: object }[];
  /** Swaps in a runtime with these options; an omitted upstream is kept. */
  swap(options: Omit<RigOptions, "settings" | "observer">): Promise<void>;
}

/** The plugins' services: only the clock, which `compile` needs; the stand-ins use no services. */
const services = { now: Date.now } as WorkerServices;

/** Starts a rig; all of it is stopped when the test ends. */
export async function startRig(test: TestContext, engine: Engine, options: RigOptions = {}): Promise<Rig> {
  const log: { message: string; details: object }[] = [];
  const write = (details: object, message: string) => log.push({ message, details });
  let upstream = await upstreamPort(test, options.upstream ?? 1);
  const instances: Record<string, PluginPhases> = {};
  const plugins = new Map(
    (builtInFacts as readonly PluginFacts[]).map((facts) => [
      facts.name,
      { ...facts, phases: () => instances[facts.name] ?? {} },
    ]),
  );
  const tools = { plugins, services };
  const snapshot = (from: Omit<RigOptions, "settings" | "observer">) => {
    Object.assign(instances, from.plugins);
    return contentOf(from, upstream);
  };
  let runtime = compile(null, snapshot(options), tools);
  const proxy = await engine.createProxy({
    listen: { host: "127.0.0.1", port: 0 },
    ...(options.certificates && { listenTls: { host: "127.0.0.1", port: 0 } }),
    listenStreams: (options.streamListeners ?? []).map((kind) => ({ host: "127.0.0.1", port: 0, tls: kind === "tls" })),
    settings: {
      ...defaultProxySettings,
      version: "1.2.3",
      allowedUpstreams: ["127.0.0.0/8", "::1"],
      ...options.settings,
    },
    log: { warn: write, error: write },
    observer: options.observer ?? null,
    createClientVerifier,
    runtime: () => runtime,
  });
  test.after(() => proxy.close({ deadline: 0 }));
  const { allowedUpstreams = ["127.0.0.0/8"] } = options.settings ?? {};
  const guard = createGuard({ allowedUpstreams, ownListeners: [proxy.address] });
  const watch = new ActiveHealthChecks({ probe: createProbe({ connect: connectBehind(guard), version: "1.2.3" }) });
  watch.checkBalancers(runtime.balancers);
  test.after(() => watch.close());
  return {
    port: proxy.address.port,
    balancer() {
      const [balancer] = runtime.balancers.values();
      if (balancer === undefined) throw new Error("this rig has no pool");
      return balancer;
    },
    tlsPort: proxy.tlsAddress?.port ?? 0,
    proxy,
    log,
    async swap(next) {
      upstream = await upstreamPort(test, next.upstream ?? upstream);
      runtime = compile(runtime, snapshot(next), tools);
      watch.checkBalancers(runtime.balancers);
    },
  };
}

function contentOf(
  {
    service,
    services = [],
    route,
    routes = {},
    listeners = [],
    listenerCertificates = {},
    endpoints,
    pool,
    identities,
    plugins,
    pluginMembers,
    certificates = {},
    challenges = [],
    authorities = [],
  }: RigOptions,
  port: number,
): Snapshot {
  const target = serviceNamed("upstream", { port, ...(pool && { host: "pool" }), ...service });
  const balanced = pool && upstreamNamed("pool", pool.upstream);
  const addresses = Object.entries(pool?.targets ?? {});
  const pairs = Object.entries(certificates).map(([name, pair]) => certificateNamed(name, pair));
  const snapshot = snapshotOfEntities({
    certificates: [
      ...pairs.map(({ certificate }) => certificate),
      ...Object.entries(listenerCertificates).map(([name, pair]) => ({
        ...certificateNamed(name, pair).certificate,
        _sluice: { listeners: [name] },
      })),
      ...(challenges.length === 0 ? [] : [orderedCertificate(challenges)]),
    ],
    snis: pairs.map(({ sni }) => sni),
    caCertificates: authorities.map((cert) => caCertificateOf(cert)),
    ...(balanced && {
      upstreams: [balanced],
      targets: addresses.map(([address, weight]) => targetOf(balanced, address, { weight })),
    }),
    services: [target, ...services],
    routes: Object.entries({ route: route ?? {}, ...routes }).map(([name, members]) =>
      routeNamed(name, { paths: ["/"], service: { id: target.id }, ...members }),
    ),
    listeners,
    plugins: Object.keys(plugins ?? {}).map((name) => pluginEntityNamed(name, pluginMembers)),
    ...(endpoints && { endpoints: new Map([[target.id, endpoints]]) }),
  });
  return { ...snapshot, ...identities };
}

async function upstreamPort(test: TestContext, upstream: number | RequestListener): Promise<number> {
  return typeof upstream === "number" ? upstream : portOf(await startUpstream(test, upstream));
}

/** An HTTP server on a free port, closed when the test ends. */
export async function startUpstream(test: TestContext, listener: RequestListener): Promise<Server> {
  return listen(test, createServer(listener));
}

/** Listens on a free port. When the test ends, the server closes and cuts its connections, including upgraded ones. */
export async function listen<Listener extends NetServer>(test: TestContext, server: Listener): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return server;
}

export const portOf = (server: { address(): AddressInfo | string | null }): number =>
  (server.address() as AddressInfo).port;
