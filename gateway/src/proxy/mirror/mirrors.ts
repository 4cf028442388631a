/**
 * Mirrors: services that receive copies of requests. A copy has connections, limits and a deadline of its own, so that
 * a slow mirror affects neither the request nor its response.
 */
import { HeaderEditList, type MirroredRequest } from "@sluice/plugin-sdk";
import type { Runtime, ServiceUpstream, UpstreamTarget } from "../../compile/runtime.ts";
import type { Connect } from "../../outbound/connect.ts";
import type { AttemptObserver, ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import { isGrpc } from "../exchange/protocols.ts";
import { UpstreamPool } from "../http1/upstream/upstream-pool.ts";
import { UpstreamSessions } from "../http2/upstream/upstream-sessions.ts";
import type { Pipeline } from "../pipeline.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { Http1MirrorCall, Http2MirrorCall, type MirrorCallListener } from "./mirror-calls.ts";
import { MirrorCopy, type MirrorWorker } from "./mirror-copy.ts";
import { type MirrorMessage, mirroredHead } from "./mirror-message.ts";

export interface MirrorsOptions {
  readonly connect: Connect;
  readonly pipeline: Pick<Pipeline, "upstreamHeaders">;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAlive: number;
}

/** Maximum copies under way to one service. */
const MAX_COPIES = 100;
/** Maximum bytes of the bodies of all copies. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The connections to mirrors. */
interface MirrorConnections {
  readonly pool: UpstreamPool;
  readonly sessions: UpstreamSessions;
}

export class Mirrors {
  readonly #options: MirrorsOptions;
  /** Null until a request is mirrored. */
  #connections: MirrorConnections | null = null;
  /** The copies under way, by the id of their service. */
  readonly #copies = new Map<string, Set<MirrorCopy>>();
  #held = 0;

  constructor(options: MirrorsOptions) {
    this.#options = options;
  }

  /** Prepares a copy of the exchange's request. It begins when the first attempt to forward the request begins. */
  prepare(exchange: LiveExchange, request: MirroredRequest): void {
    if (exchange.request.header("upgrade")?.toLowerCase() === "websocket") return;
    exchange.observer = new MirroredAttempt(exchange.observer, (forward) => this.#begin(exchange, forward, request));
  }

  close(): void {
    for (const copies of this.#copies.values()) for (const copy of [...copies]) copy.close();
    this.#connections?.pool.close();
    this.#connections?.sessions.close();
  }

  #begin(exchange: LiveExchange, forward: ForwardPlan, request: MirroredRequest): void {
    const { runtime, body } = exchange;
    const drop = (reason: string) => request.onEnd({ kind: "dropped", reason });
    const upstream = runtime.upstreams.named(request.service);
    if (upstream === null) {
      drop(`there is no enabled service ${request.service}`);
      return;
    }
    const { id } = upstream.service;
    const copies = this.#copies.get(id) ?? new Set();
    if (copies.size >= MAX_COPIES) {
      drop(`${MAX_COPIES} copies are under way`);
      return;
    }
    // The cookie of a mirror's load balancing is not for the client.
    const attempts = upstream.attempts(balancingView(exchange));
    const target = attempts.next();
    if (target === null) {
      drop("no target of the service accepts requests");
      return;
    }
    // The certificate's owner has not agreed that it is used for requests of other services.
    if (target.certificate !== null) {
      attempts.endTry();
      drop("the service has a client certificate, which copies must not use");
      return;
    }
    const worker = this.#workerFor(runtime, { copies, upstream, isGrpc: isGrpc(exchange.request) });
    const head = mirroredHead({ exchange, forward, upstream, target }, this.#options.pipeline);
    const copy = new MirrorCopy({ worker, request, head, target, attempts });
    this.#copies.set(id, copies.add(copy));
    if (body !== null && body.whole === null) body.copyTo(copy);
    else {
      if (body?.whole && body.whole.length > 0) copy.write(ByteView.of(body.whole));
      copy.end();
    }
  }

  #workerFor(
    runtime: Runtime,
    { copies, upstream, isGrpc }: { copies: Set<MirrorCopy>; upstream: ServiceUpstream; isGrpc: boolean },
  ): MirrorWorker {
    const { service } = upstream;
    return {
      reserve: (bytes) => {
        if (this.#held + bytes > MAX_BYTES) return false;
        this.#held += bytes;
        return true;
      },
      release: (bytes) => {
        this.#held -= bytes;
      },
      ended: (copy) => {
        copies.delete(copy);
        if (copies.size === 0 && this.#copies.get(service.id) === copies) this.#copies.delete(service.id);
      },
      send: (target, message, listener) => {
        const connections = this.#connectionsOf(runtime);
        return isGrpc || upstream.speaksHttp2
          ? sendHttp2(connections, target, { message, listener })
          : sendHttp1(connections, target, { message, listener });
      },
    };
  }

  #connectionsOf(runtime: Runtime): MirrorConnections {
    this.#connections ??= {
      pool: new UpstreamPool(this.#options),
      sessions: new UpstreamSessions(this.#options),
    };
    this.#connections.pool.follow(runtime);
    this.#connections.sessions.follow(runtime);
    return this.#connections;
  }
}

/** The exchange for the balancer of a mirror. Response headers that the balancer sets are discarded. */
const balancingView = ({ request, match, consumer, credential }: LiveExchange) => ({
  request,
  match,
  consumer,
  credential,
  responseHeaders: new HeaderEditList(),
});

interface Delivery {
  readonly message: MirrorMessage;
  readonly listener: MirrorCallListener;
}

function sendHttp1({ pool }: MirrorConnections, target: UpstreamTarget, { message, listener }: Delivery): () => void {
  const call = new Http1MirrorCall(message, listener);
  const kept = pool.takeIdle(target);
  if (kept !== null) {
    call.connected(kept);
    return () => call.abort();
  }
  const giveUp = pool.connect(target, call, false);
  return () => {
    giveUp();
    call.abort();
  };
}

function sendHttp2(
  { sessions }: MirrorConnections,
  target: UpstreamTarget,
  { message, listener }: Delivery,
): () => void {
  const call = new Http2MirrorCall(message, listener);
  const giveUp = sessions.open(target, call);
  return () => {
    giveUp();
    call.abort();
  };
}

/** Begins the copy of a request when its first attempt begins: its head is then complete, and its body has not begun. */
class MirroredAttempt implements AttemptObserver {
  /** The observer that saw the attempts before. */
  readonly #observer: AttemptObserver | null;
  #begin: ((forward: ForwardPlan) => void) | null;

  constructor(observer: AttemptObserver | null, begin: (forward: ForwardPlan) => void) {
    this.#observer = observer;
    this.#begin = begin;
  }

  tried(exchange: LiveExchange, forward: ForwardPlan): void {
    // The observer may set headers, such as that of the trace.
    this.#observer?.tried?.(exchange, forward);
    const begin = this.#begin;
    this.#begin = null;
    begin?.(forward);
  }

  failed(exchange: LiveExchange, error: Error): void {
    this.#observer?.failed?.(exchange, error);
  }
}
