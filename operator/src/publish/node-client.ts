/** Talks to one node's push listener (the table of requests stands in @sluice/model, push.ts). */
import { Readable } from "node:stream";
import { orAborted } from "@sluice/crds";
import type { NodeState, PemTexts, PushChange, PushDocument } from "@sluice/model";
import { Agent, request } from "undici";
import { readAnswer, refusalIn, stateIn } from "./answer.ts";
import { bodyOf } from "./body.ts";

export interface NodeClient {
  state(): Promise<NodeState>;
  /**
   * The node's new state is its acknowledgement. Throws Refused when the node keeps what it had, and another error when
   * that may pass: also when the push is outdated, which the node's state explains.
   */
  put(push: PushDocument): Promise<NodeState>;
  /** "stale" when the node runs another hash than the change's base: it needs the whole document. */
  patch(push: PushChange): Promise<NodeState | "stale">;
}

/** The node answered, and will not take the document however often it is sent. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** PEM texts. The node's certificate must be signed by `ca` and carry the name `serverName`. */
export interface NodeTls extends PemTexts {
  readonly serverName: string;
}

export interface NodeCredentials {
  readonly token?: string;
  /** Null: there are none yet, and until there are no node is called. */
  readonly tls?: NodeTls | null;
  /** Milliseconds until a silent node counts as failed; default 2000, for a push 10 times as long. */
  readonly timeout?: number;
}

export interface ConnectOptions {
  /** Ends calls that are under way. */
  readonly signal: AbortSignal;
  /** Told when a connection to the node has come to its end, of which its own calls need not know. */
  readonly onBroken?: () => void;
}

export type ConnectNode = (address: string, options: ConnectOptions) => NodeClient;

interface Node {
  readonly address: string;
  readonly signal: AbortSignal;
}

/** Answers that stay the same for the same document: it has faults, or is too large. Others may pass by themselves. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Bytes that are written to a connection at once. TLS keeps as much memory as its largest write took, for as long as the
 * connection lives: with 500 nodes that was half a gigabyte.
 */
const PIECE = 32 * 1024;

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

export interface NodeConnector {
  readonly connect: ConnectNode;
  /** New connections show and trust these from now on; calls that are under way end on their old ones. */
  renew(tls: NodeTls): void;
  /** Lets go of the connections. */
  close(): Promise<void>;
}

/** Connections are kept and shared by all nodes. */
export function nodeConnector({ token, tls, timeout = 2000 }: NodeCredentials): NodeConnector {
  /** By the node's origin: whom to tell of connections that end. */
  const broken = new Map<string, () => void>();
  const agentFor = (own: NodeTls | undefined) =>
    new Agent({
      connections: 2,
      // As the node's listener says. Its end of a connection tells that its process has ended.
      keepAliveTimeout: 600_000,
      connect: {
        timeout,
        ...(own && { cert: own.cert, key: own.key, ca: own.ca, servername: own.serverName, minVersion: "TLSv1.3" }),
      },
    }).on("disconnect", ({ origin }) => broken.get(origin)?.());
  let dispatcher = tls === null ? null : agentFor(tls);
  /** Those that were renewed, until their calls have ended. */
  const ending = new Set<Promise<void>>();
  const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};

  async function call(node: Node, method: "GET" | "PUT" | "PATCH", push?: PushDocument | PushChange) {
    const wait = push ? timeout * 10 : timeout;
    const body = push && (await bodyOf(push));
    if (!dispatcher) throw new Error("there is no certificate yet to show to nodes");
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
      ...(body && { body: body.bytes.length > PIECE ? Readable.from(inPieces(body.bytes)) : body.bytes }),
    });
    const response = await orAborted(asked, node.signal);
    return { status: response.statusCode, body: await readAnswer(response.body) };
  }

  function acknowledged({ status, body }: Awaited<ReturnType<typeof call>>): NodeState {
    if (status === 200) return stateIn(body);
    const { message, violations } = refusalIn(body);
    const first = violations[0];
    const said = `${status}: ${message}${first ? ` (${first.path.join(".")}: ${first.message})` : ""}`;
    throw refusals.has(status) ? new Refused(said) : new Error(said);
  }

  return {
    connect(address, { signal, onBroken }) {
      const { origin } = new URL(address);
      if (onBroken) {
        broken.set(origin, onBroken);
        signal.addEventListener("abort", () => broken.get(origin) === onBroken && broken.delete(origin));
      }
      return {
        state: async () => acknowledged(await call({ address, signal }, "GET")),
        put: async (push) => acknowledged(await call({ address, signal }, "PUT", push)),
        patch: async (push) => {
          const answer = await call({ address, signal }, "PATCH", push);
          return answer.status === 409 ? "stale" : acknowledged(answer);
        },
      };
    },
    renew(next) {
      const before = dispatcher?.close();
      dispatcher = agentFor(next);
      if (!before) return;
      ending.add(before);
      void before.finally(() => ending.delete(before));
    },
    async close() {
      await Promise.all([...ending, dispatcher?.close()]);
    },
  };
}
