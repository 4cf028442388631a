/** A health check by gRPC's health protocol (grpc.health.v1.Health/Check), on a connection of its own. */
import type { ProbeResult } from "../../../balance/active-checks.ts";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import type { Connect } from "../../../outbound/connect.ts";
import { ForbiddenAddressError } from "../../../outbound/guard.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { errorCodeOf } from "../../upstream/failure.ts";
import type { UpstreamSession } from "./upstream-session.ts";
import { UpstreamSessions } from "./upstream-sessions.ts";
import type { UpstreamStreamListener } from "./upstream-stream.ts";

export interface GrpcCheck {
  readonly target: UpstreamTarget;
  /** Flat list: name, value. Contains Host. */
  readonly headers: readonly string[];
  /** The name of the service whose health is asked for; "": that of the whole server. */
  readonly service: string;
}

/** A check that is under way. */
export interface RunningGrpcCheck {
  readonly result: Promise<ProbeResult>;
  destroy(): void;
}

const PATH = "/grpc.health.v1.Health/Check";
/** `SERVING` of the enumeration `ServingStatus`. */
const SERVING = 1;
/** Headers that the protocol or the message determines. The configured headers of a check do not replace them. */
const determined: ReadonlySet<string> = new Set(["te", "content-type", "content-length", "grpc-encoding"]);
/** Maximum bytes of a response that are read: a HealthCheckResponse has two. */
const MAX_RESPONSE = 1024;

export function startGrpcCheck({ target, headers, service }: GrpcCheck, connect: Connect): RunningGrpcCheck {
  const sessions = new UpstreamSessions({ connect, keepAlive: 1000 });
  const { promise, resolve } = Promise.withResolvers<ProbeResult>();
  const failed = (error: Error) => resolve(resultOf(error));
  sessions.open(target, {
    refused: failed,
    opened(session: UpstreamSession) {
      const configured = headers.filter((_text, at) => !determined.has((headers[at & ~1] ?? "").toLowerCase()));
      const fields = [...configured, "TE", "trailers", "Content-Type", "application/grpc"];
      const listener = new HealthResponse(resolve, failed);
      const parts = { method: "POST", scheme: target.scheme, path: PATH, headers: fields };
      const { writer } = session.request({ parts, ended: false, listener });
      writer.data(ByteView.of(messageOf(service)));
      writer.end(null);
    },
  });
  return { result: promise, destroy: () => sessions.close() };
}

function resultOf(error: Error): ProbeResult {
  if (error instanceof ForbiddenAddressError) return { refused: error.message };
  return errorCodeOf(error) === "ETIMEDOUT" ? "timeout" : "failed";
}

/** HealthCheckRequest, whose member 1 is the service, with the prefix of a gRPC message: not compressed, and the length. */
function messageOf(service: string): Buffer {
  const name = Buffer.from(service);
  const member = name.length === 0 ? [] : [Buffer.from([0x0a, ...varint(name.length)]), name];
  const message = Buffer.concat(member);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const varint = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];

/** Whether a HealthCheckResponse, with its prefix, has the status SERVING in its member 1. Later members are ignored. */
const isServing = (body: Buffer): boolean => body[0] === 0 && body[5] === 0x08 && body[6] === SERVING;

class HealthResponse implements UpstreamStreamListener {
  readonly #done: (result: ProbeResult) => void;
  readonly failed: (error: Error) => void;
  #body = Buffer.alloc(0);
  #status = 0;

  constructor(done: (result: ProbeResult) => void, failed: (error: Error) => void) {
    this.#done = done;
    this.failed = failed;
  }

  interim(): void {}

  head({ status }: { readonly status: number }): void {
    this.#status = status;
  }

  data(view: ByteView): void {
    this.#body = Buffer.concat([this.#body, view.keep()]).subarray(0, MAX_RESPONSE);
  }

  flush(): boolean {
    return true;
  }

  end(trailers: readonly string[] | null): void {
    const at = trailers?.indexOf("grpc-status") ?? -1;
    const isOk = this.#status === 200 && at >= 0 && trailers?.[at + 1] === "0";
    this.#done(isOk && isServing(this.#body) ? "serving" : "not serving");
  }

  drained(): void {}
}
