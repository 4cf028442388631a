/**
 * A connection that is not HTTP: it is joined with a connection to one of the route's targets. Targets are tried like
 * those of a request, but only until a connection is open: then the first bytes of the client have been sent.
 */
import type { Socket } from "node:net";
import { type ForwardAttempt, HeaderEditList } from "@sluice/plugin-sdk";
import type { TargetAttempts } from "../../balance/target-attempts.ts";
import type { ServiceUpstream, UpstreamTarget } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { Connect } from "../../outbound/connect.ts";
import { joinSockets } from "../http1/tunnel.ts";
import type { ClientMemory, MemoryAccount } from "../listener/client-memory.ts";
import { dialTarget, type TlsSessionCache } from "../upstream/dial.ts";
import { failureReason, failureSignalOf, gatewayErrorFor, isUnreachable, mayRetry } from "../upstream/failure.ts";

/** The status that passive health checks see for an open connection. */
const CONNECTED = 200;

export interface StreamConnectionOptions {
  readonly connect: Connect;
  readonly sessions: TlsSessionCache;
  readonly memory: ClientMemory;
  readonly client: Socket;
  readonly peerAddress: string;
  readonly upstream: ServiceUpstream;
  /** Called once, when both sides are closed. */
  readonly onClose: (result: StreamResult) => void;
}

export interface StreamResult {
  /** Null: the client was joined with a target. */
  readonly fault: GatewayErrorName | null;
  /** Why there is a fault; null: there is none, or it has no further reason. */
  readonly reason: string | null;
  readonly target: UpstreamTarget | null;
  readonly attempts: readonly ForwardAttempt[];
  /** By `performance.now()`; null: the client was not joined with a target. */
  readonly connectedAt: number | null;
  /** See `StreamRecord`. */
  readonly upstreamBytes: { readonly received: number; readonly sent: number };
}

/** The result for a connection that was not forwarded to any target. */
export const unforwarded = {
  target: null,
  attempts: [],
  connectedAt: null,
  upstreamBytes: { received: 0, sent: 0 },
} as const satisfies Partial<StreamResult>;

export class StreamConnection {
  readonly #options: StreamConnectionOptions;
  readonly #targets: TargetAttempts<UpstreamTarget>;
  readonly #account: MemoryAccount;
  #triesLeft: number;
  readonly #tried: ForwardAttempt[] = [];
  #upstream: Socket | null = null;
  #target: UpstreamTarget | null = null;
  #connectedAt: number | null = null;
  #cancel: (() => void) | null = null;
  #isOver = false;

  constructor(options: StreamConnectionOptions) {
    const { client, memory, upstream, peerAddress } = options;
    this.#options = options;
    this.#targets = upstream.attempts(connectionView(peerAddress));
    this.#triesLeft = upstream.service.retries;
    this.#account = memory.account(() => this.destroy());
    // A client that sends FIN may still read: the upstream decides when the connection ends.
    client.allowHalfOpen = true;
    client.on("error", this.#onClientGone).once("close", this.#onClientGone);
  }

  start(): void {
    if (this.#isOver) return;
    const target = this.#targets.next();
    this.#target = target;
    if (target === null) {
      this.#fail("noPeer", null);
      return;
    }
    this.#tried.push({ started: performance.now(), host: target.host, port: target.port, failed: false });
    const { connect, sessions } = this.#options;
    const listener = {
      connected: (upstream: Socket) => this.#join(upstream),
      failed: (error: Error) => this.#failed(error),
    };
    this.#cancel = dialTarget(target, listener, { connect, sessions, protocol: null });
  }

  destroy(): void {
    this.#options.client.destroy();
    this.#upstream?.destroy();
  }

  readonly #onClientGone = (): void => {
    this.#cancel?.();
    this.#options.client.destroy();
    this.#end({ fault: "clientGone", reason: null });
  };

  #join(upstream: Socket): void {
    const { client, upstream: service } = this.#options;
    this.#cancel = null;
    this.#upstream = upstream;
    this.#connectedAt = performance.now();
    this.#targets.recordResponse(CONNECTED, this.#target);
    client.off("error", this.#onClientGone).off("close", this.#onClientGone);
    joinSockets({
      client,
      upstream,
      account: () => this.#account,
      silence: service.service.read_timeout,
      onClose: () => this.#end({ fault: null, reason: null }),
    });
  }

  #failed(error: Error): void {
    this.#cancel = null;
    const attempt = this.#tried.pop();
    if (attempt !== undefined) this.#tried.push({ ...attempt, failed: true });
    const signal = failureSignalOf({ error, connected: false, fresh: true });
    if (signal !== null) this.#targets.failed(signal);
    if (isUnreachable({ error, connected: false })) this.#targets.unreachable(this.#target);
    const { hasOtherTarget } = this.#targets;
    const failedTry = { error, connected: false, method: "", bodyBegun: false, hasOtherTarget };
    if (this.#triesLeft <= 0 || !mayRetry(failedTry)) {
      this.#fail(gatewayErrorFor(error), failureReason(error));
      return;
    }
    this.#triesLeft--;
    setImmediate(() => this.start());
  }

  #fail(fault: GatewayErrorName, reason: string | null): void {
    const { client } = this.#options;
    client.off("close", this.#onClientGone).destroy();
    this.#end({ fault, reason });
  }

  #end(outcome: Pick<StreamResult, "fault" | "reason">): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#targets.endTry();
    this.#account.close();
    const { bytesRead: received, bytesWritten: sent } = this.#upstream ?? { bytesRead: 0, bytesWritten: 0 };
    this.#options.onClose({
      ...outcome,
      target: this.#target,
      attempts: this.#tried,
      connectedAt: this.#connectedAt,
      upstreamBytes: { received, sent },
    });
  }
}

/** A connection has nothing to hash but the client's address. */
export const connectionView = (clientAddress: string) => ({
  request: { clientAddress, scheme: "https" as const, path: "", query: "", header: () => undefined },
  match: { captures: null },
  consumer: null,
  credential: null,
  responseHeaders: new HeaderEditList(),
});
