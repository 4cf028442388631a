/** Client of one node's push listener. The protocol is described in @sluice/model, push.ts. */
import { Readable } from "node:stream";
import { rejectOnAbort } from "@sluice/crds";
import {
  NODE_ENDPOINT_TIMEOUT,
  type NodeReport,
  type PemTexts,
  type PluginEndpointCall,
  type PluginEndpointResult,
  type PushChange,
  type PushDocument,
  type PushView,
} from "@sluice/model";
import { Agent, request } from "undici";
import {
  MAX_ENDPOINT_RESPONSE_BYTES,
  parseEndpointResult,
  parseNodeState,
  parsePushRefusal,
  readNodeResponse,
} from "./node-response.ts";
import { pushBodyOf } from "./push-content.ts";

export interface NodeClient {
  state(): Promise<NodeReport>;
  /**
   * Returns the node's new state, which is its acknowledgement. Throws PushRefusedError when the node rejects the
   * document permanently. Throws another error when a retry may succeed, and for an outdated push: in that case `state`
   * shows what the node runs.
   */
  put(push: PushDocument): Promise<NodeReport>;
  /** As `put`, but resolves to "stale" when the node does not run the change's base, so it needs the full document. */
  patch(push: PushChange): Promise<NodeReport | "stale">;
}

/** The node answered, and refuses this document however often it is sent. */
export class PushRefusedError extends Error {
  override readonly name = "PushRefusedError";
}

/** PEM texts. The node's certificate must be signed by `ca` and carry the name `serverName`. */
export interface NodeTls extends PemTexts {
  readonly serverName: string;
}

export interface NodeCredentials {
  readonly token?: string;
  /** Null: there is no certificate yet. No node is called until there is one. */
  readonly tls?: NodeTls | null;
  /** Milliseconds until a connection attempt or an unanswered poll fails; for a push, ten times that. Default 2000. */
  readonly timeout?: number;
}

export interface ConnectOptions {
  readonly signal: AbortSignal;
  /** Called when a connection to the node has closed, even between calls. */
  readonly onDisconnect?: () => void;
}

export type ConnectNode = (address: string, options: ConnectOptions) => NodeClient;

interface Node {
  readonly address: string;
  readonly signal: AbortSignal;
}

/** Status codes that every retry would get too, because the document is invalid or too large. */
const permanentRefusals: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Maximum bytes of one write to a connection. A TLS connection keeps as much memory as its largest write needed, until
 * it closes: with 500 nodes that was half a gigabyte.
 */
const WRITE_CHUNK = 32 * 1024;

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += WRITE_CHUNK) yield bytes.subarray(at, at + WRITE_CHUNK);
}

/** Administrators read the errors of calls; undici's message of this one is "Headers Timeout Error". */
const describeTimeout = (milliseconds: number) => (error: Error & { readonly code?: string }) => {
  if (error.code !== "UND_ERR_HEADERS_TIMEOUT") throw error;
  throw new Error(`no response within ${milliseconds / 1000} s`, { cause: error });
};

/** All nodes share one agent, which keeps their connections alive. */
export function createNodeConnector({ token, tls, timeout = 2000 }: NodeCredentials) {
  const onDisconnectByOrigin = new Map<string, () => void>();
  const agentFor = (own: NodeTls | undefined) =>
    new Agent({
      connections: 2,
      // Shorter than the timeout of the node's listener: if the node closes an idle connection, its process has ended.
      keepAliveTimeout: 600_000,
      connect: {
        timeout,
        ...(own && { cert: own.cert, key: own.key, ca: own.ca, servername: own.serverName, minVersion: "TLSv1.3" }),
      },
    }).on("disconnect", ({ origin }) => onDisconnectByOrigin.get(origin)?.());
  let dispatcher = tls === null ? null : agentFor(tls);
  /** Replaced dispatchers, until their calls have ended. */
  const drainingDispatchers = new Set<Promise<void>>();
  const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};

  async function call(node: Node, method: "GET" | "PUT" | "PATCH", push?: PushDocument | PushChange) {
    const wait = push ? timeout * 10 : timeout;
    const body = push && (await pushBodyOf(push));
    if (!dispatcher) throw new Error("there is no client certificate yet");
    const asked = request(`${node.address}/document`, {
      method,
      dispatcher,
      signal: node.signal,
      headersTimeout: wait,
      bodyTimeout: wait,
      headers: {
        ...authorization,
        ...(body && { "content-type": "application/json", "content-length": `${body.bytes.length}` }),
        ...(body?.isZipped && { "content-encoding": "gzip" }),
      },
      ...(body && { body: body.bytes.length > WRITE_CHUNK ? Readable.from(inChunks(body.bytes)) : body.bytes }),
    });
    const response = await rejectOnAbort(asked, node.signal).catch(describeTimeout(wait));
    return { status: response.statusCode, body: await readNodeResponse(response.body) };
  }

  async function sendView(node: Node, view: PushView): Promise<NodeReport> {
    if (!dispatcher) throw new Error("there is no client certificate yet");
    const asked = request(`${node.address}/view`, {
      method: "PUT",
      dispatcher,
      signal: node.signal,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      headers: { ...authorization, "content-type": "application/json" },
      body: JSON.stringify(view),
    });
    const response = await rejectOnAbort(asked, node.signal).catch(describeTimeout(timeout));
    return nodeStateFrom({ status: response.statusCode, body: await readNodeResponse(response.body) });
  }

  async function askPlugin(node: Node, body: PluginEndpointCall): Promise<PluginEndpointResult> {
    if (!dispatcher) throw new Error("there is no client certificate yet");
    const asked = request(`${node.address}/plugins`, {
      method: "POST",
      dispatcher,
      signal: node.signal,
      headersTimeout: NODE_ENDPOINT_TIMEOUT,
      bodyTimeout: NODE_ENDPOINT_TIMEOUT,
      headers: { ...authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const response = await rejectOnAbort(asked, node.signal).catch(describeTimeout(NODE_ENDPOINT_TIMEOUT));
    const received = await readNodeResponse(response.body, MAX_ENDPOINT_RESPONSE_BYTES);
    if (response.statusCode === 200) return parseEndpointResult(received);
    throw new Error(`${response.statusCode}: ${parsePushRefusal(received).message}`);
  }

  function nodeStateFrom({ status, body }: Awaited<ReturnType<typeof call>>): NodeReport {
    if (status === 200) return parseNodeState(body);
    const { message, violations } = parsePushRefusal(body);
    const first = violations[0];
    const said = `${status}: ${message}${first ? ` (${first.path.join(".")}: ${first.message})` : ""}`;
    throw permanentRefusals.has(status) ? new PushRefusedError(said) : new Error(said);
  }

  return {
    /** Scheme of the nodes' addresses. */
    scheme: tls === undefined ? ("http" as const) : ("https" as const),
    connect(address: string, { signal, onDisconnect }: ConnectOptions): NodeClient {
      const { origin } = new URL(address);
      if (onDisconnect) {
        onDisconnectByOrigin.set(origin, onDisconnect);
        signal.addEventListener(
          "abort",
          () => onDisconnectByOrigin.get(origin) === onDisconnect && onDisconnectByOrigin.delete(origin),
        );
      }
      return {
        state: async () => nodeStateFrom(await call({ address, signal }, "GET")),
        put: async (push) => nodeStateFrom(await call({ address, signal }, "PUT", push)),
        patch: async (push) => {
          const answer = await call({ address, signal }, "PATCH", push);
          return answer.status === 409 ? "stale" : nodeStateFrom(answer);
        },
      };
    },
    /** Calls an endpoint of a plugin on the node, and returns the response of the endpoint. */
    askPlugin,
    /** Sends the view of its fleet to a node, and returns the node's state. Throws as `put` of NodeClient. */
    sendView,
    /** New connections use this certificate and authority. Calls in progress finish on their old connections. */
    replaceTls(next: NodeTls) {
      const before = dispatcher?.close();
      dispatcher = agentFor(next);
      if (!before) return;
      drainingDispatchers.add(before);
      void before.finally(() => drainingDispatchers.delete(before));
    },
    async close() {
      await Promise.all([...drainingDispatchers, dispatcher?.close()]);
    },
  };
}

export type NodeConnector = ReturnType<typeof createNodeConnector>;
