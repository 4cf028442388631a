/**
 * Explains a connection that is not HTTP: which route would take it, and why. The lookup of the route, the decision
 * about it and its plugins are those of the proxy; see explain.ts.
 */
import { isIP } from "node:net";
import {
  type ConnectionUrl,
  type DocumentListener,
  type ExplainedConnection,
  type ExplainRequest,
  type Explanation,
  listFirstNames,
} from "@sluice/model/serving";
import type { CompiledRoute, ListenerStream, StreamArrival } from "../compile/runtime.ts";
import { idAndNameOf } from "../exchange/entity-name.ts";
import { gatewayErrors } from "../exchange/gateway-errors.ts";
import { canonicalAddress } from "../outbound/address-set.ts";
import type { StreamListenAddress } from "../proxy/settings.ts";
import { decideStream, refusedShare } from "../proxy/streams/stream-decision.ts";
import { StreamPlugins } from "../proxy/streams/stream-plugins.ts";
import { type ExplainTools, type StartedExplanation, startExplanation } from "./explain-tools.ts";
import { describedListener } from "./explained-listener.ts";
import { explainedRoutes } from "./explained-routes.ts";
import { explainedConnectionTargets, hasTarget, targetRefusal } from "./explained-upstream.ts";
import { explainedHandshake, handshakeWarnings, unprotectedWarnings } from "./explained-warnings.ts";

const nothing = {
  ...{ connection: null, handshake: null, request: null, listener: null, route: null, service: null, consumer: null },
  ...{ upstream: null, closed: null, response: null, unknown: null },
} as const satisfies Partial<Explanation>;

const nothingListed = {
  warnings: [],
  candidates: [],
  other_candidates: 0,
  plugins: [],
  counters: [],
  log: [],
} as const;

export async function explainConnection(
  described: ExplainRequest,
  url: ConnectionUrl,
  tools: ExplainTools,
): Promise<Explanation> {
  const found = arrivalOf(described, url, tools);
  if (found.fault !== undefined) return { ...nothing, ...nothingListed, unknown: found.fault };
  const { runtime } = tools;
  const { arrival, listener, documentPort } = found;
  const stream =
    documentPort === null ? runtime.matchStream(arrival) : runtime.listeners.streamAt(documentPort, arrival.serverName);
  if (stream === null) throw new Error(`the listener ${listener?.name} takes no connections`);
  const started = startExplanation(tools);
  try {
    const { route, ...decided } = decide(stream, arrival, { tools, started });
    const plugins = route === null ? [] : started.plugins.listForConnection(route);
    const handshake =
      stream.protocol === "tls" && stream.route !== null
        ? explainedHandshake({ tlsVersion: "TLSv1.3", serverName: arrival.serverName, documentPort }, runtime)
        : null;
    return {
      ...nothing,
      connection: describedConnection(described, stream, { arrival, documentPort }),
      handshake,
      warnings: [
        ...(handshake ? handshakeWarnings(handshake, tools.services.now()) : []),
        ...shareWarnings(stream),
        ...unprotectedWarnings(plugins),
      ],
      listener: stream.listener,
      route: stream.route && idAndNameOf(stream.route),
      service: route?.upstream ? idAndNameOf(route.upstream.service) : null,
      ...(await explainedRoutes(runtime.explainStream({ ...arrival, listener }, described.size))),
      plugins,
      counters: started.counters,
      log: started.lines,
      ...decided,
    };
  } finally {
    started.plugins.close();
  }
}

type FoundArrival =
  | {
      readonly arrival: StreamArrival;
      /** The document's listener that takes the connection, with the port of the nodes; null: one of the node's own. */
      readonly listener: DocumentListener | null;
      readonly documentPort: number | null;
      readonly fault?: undefined;
    }
  | { readonly fault: string };

function arrivalOf(
  { client_address, client_port, server_name, port }: ExplainRequest,
  { isTls, host, port: ownPort }: ConnectionUrl,
  { runtime, streamAddresses = [] }: ExplainTools,
): FoundArrival {
  const isAddress = isIP(host) !== 0;
  // Clients send no address as server name (RFC 6066 section 3).
  const serverName = isTls ? ((server_name ?? (isAddress ? null : host))?.toLowerCase() ?? null) : null;
  const source = { address: canonicalAddress(client_address), port: client_port ?? 0 };
  if (port !== null) {
    const found = describedListener({ port, isTls, serverName }, runtime.listeners.table);
    if (found.fault !== undefined) return found;
    const destination = { address: LOOPBACK, port: found.documentPort };
    return { ...found, arrival: { isTls, serverName, source, destination } };
  }
  const own = streamAddresses.filter((address) => address.port === ownPort);
  const [fitting] = own.filter(({ tls }) => tls === isTls);
  if (fitting === undefined) return { fault: missingListener(ownPort, own, streamAddresses) };
  const bound = WILDCARDS.has(fitting.host) || isIP(fitting.host) === 0 ? LOOPBACK : fitting.host;
  const destination = { address: canonicalAddress(isAddress ? host : bound), port: ownPort };
  return { arrival: { isTls, serverName, source, destination }, listener: null, documentPort: null };
}

const LOOPBACK = "127.0.0.1";
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
/** Maximum number of listeners in a fault. */
const MAX_NAMES = 10;

/** @param own The listeners of the port. They expect TLS while the URL has none, or the other way round */
function missingListener(
  port: number,
  [own]: readonly StreamListenAddress[],
  all: readonly StreamListenAddress[],
): string {
  if (own !== undefined)
    return `the stream listener of the port ${port} is for connections ${own.tls ? "with TLS: describe one with tls://" : "without TLS: describe one with tcp://"}`;
  const names = all.map((address) => `${address.port}${address.tls ? " ssl" : ""}`);
  const others = names.length === 0 ? "" : `; there are ${listFirstNames(names, MAX_NAMES)}`;
  return `the node has no stream listener on the port ${port} (SLUICE_STREAM_LISTEN)${others}`;
}

interface DecideOptions {
  readonly tools: ExplainTools;
  readonly started: StartedExplanation;
}

/** What the gateway does with the connection, and the route with the explained plugins; null: there is none. */
function decide(
  stream: ListenerStream,
  { serverName, source: { address: clientAddress } }: StreamArrival,
  { tools: { runtime, reasonToRefuse }, started: { plugins, log } }: DecideOptions,
): Pick<Explanation, "closed" | "upstream" | "unknown"> & { readonly route: CompiledRoute | null } {
  const compiled = stream.route && runtime.compiledRoute(stream.route.id);
  const route = compiled && plugins.explained(compiled);
  const closed = (status: number, reason: string) => ({
    route,
    closed: { status, reason },
    upstream: null,
    unknown: null,
  });
  const close = ({ status, reason }: { readonly status: number; readonly reason: string }) => {
    log.warn({ reason }, "a connection was closed");
    return closed(status, reason);
  };
  const { refusal, upstream, steps } = decideStream(stream, route, highestDraw);
  if (refusal !== undefined) return close(refusal);
  if (route === null) throw new Error("a connection without a route is forwarded");
  const refused = new StreamPlugins({
    ...{ clientAddress, protocol: stream.protocol, serverName, route: route.route, service: upstream.service },
    ...{ steps, log, exchanges: { open: 0, onIdle: null } },
  }).refusal();
  if (plugins.reason !== null) return { route, closed: null, upstream: null, unknown: plugins.reason };
  if (refused !== null) return close(refused);
  // As in the proxy, no line is logged about a connection that finds no target.
  if (!hasTarget(upstream)) return closed(gatewayErrors.noPeer.status, "no target accepts connections");
  const reason = targetRefusal(upstream, reasonToRefuse);
  if (reason !== null) return close({ status: gatewayErrors.upstreamDown.status, reason });
  const forwarded = explainedConnectionTargets(upstream, clientAddress, reasonToRefuse);
  return { route, closed: null, upstream: forwarded, unknown: null };
}

/** With the highest draw, a connection is explained as forwarded unless all connections of its route are closed. */
const highestDraw = (): number => 1 - Number.EPSILON;

function shareWarnings({ route }: ListenerStream): readonly string[] {
  const { refused_percentage: refused = 0 } = route?._sluice ?? {};
  return refused > 0 && refused < 100 ? [`${refusedShare(refused)}: these are closed`] : [];
}

interface Destination {
  readonly arrival: StreamArrival;
  readonly documentPort: number | null;
}

function describedConnection(
  { client_port }: ExplainRequest,
  { protocol }: ListenerStream,
  { arrival: { source, destination, serverName }, documentPort }: Destination,
): ExplainedConnection {
  return {
    protocol,
    client_address: source.address,
    client_port,
    destination_address: documentPort === null ? destination.address : null,
    port: destination.port,
    server_name: serverName,
  };
}
