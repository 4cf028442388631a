/**
 * The copy of one request: collects the body while it is forwarded, and is sent once the body is complete. Its result does
 * not count for the health of its target: copies must not take a service away from other requests.
 */
import type { MirroredRequest, MirrorFailure } from "@sluice/plugin-sdk";
import type { TargetAttempts } from "../../balance/target-attempts.ts";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { BodyCopy } from "../client/client-body.ts";
import type { RequestParts } from "../http2/fields.ts";
import type { ByteView } from "../sockets/byte-view.ts";
import { failureReason } from "../upstream/failure.ts";
import type { MirrorCallListener } from "./mirror-calls.ts";
import type { MirrorMessage } from "./mirror-message.ts";

/** What a copy needs from the mirrors of its listener. */
export interface MirrorWorker {
  /** Takes room for bytes of a body; false: there is none. */
  reserve(bytes: number): boolean;
  release(bytes: number): void;
  /** Sends the message. Returns a function that aborts the call. */
  send(target: UpstreamTarget, message: MirrorMessage, listener: MirrorCallListener): () => void;
  /** Called once, when the copy has ended. */
  ended(copy: MirrorCopy): void;
}

export interface MirrorCopyOptions {
  readonly worker: MirrorWorker;
  readonly request: MirroredRequest;
  readonly head: RequestParts;
  readonly target: UpstreamTarget;
  readonly attempts: TargetAttempts<UpstreamTarget>;
}

const dropped = (reason: string): MirrorFailure => ({ kind: "dropped", reason });

export class MirrorCopy implements BodyCopy, MirrorCallListener {
  readonly #options: MirrorCopyOptions;
  #pieces: Buffer[] = [];
  #length = 0;
  #isSent = false;
  #hasEnded = false;
  #abort: (() => void) | null = null;
  #deadline: NodeJS.Timeout | undefined;

  constructor(options: MirrorCopyOptions) {
    this.#options = options;
  }

  begin(): void {
    if (!this.#isSent) this.#forget();
  }

  write(view: ByteView): void {
    if (this.#isSent || this.#hasEnded) return;
    const { worker, request } = this.#options;
    const { length } = view;
    if (this.#length + length > request.maxBody) this.#end(dropped(`the body has more than ${request.maxBody} bytes`));
    else if (!worker.reserve(length)) this.#end(dropped("the bodies of the copies under way take too much memory"));
    else {
      view.keepIn(this.#pieces);
      this.#length += length;
    }
  }

  end(): void {
    if (this.#isSent || this.#hasEnded) return;
    this.#isSent = true;
    const { worker, head, target, request } = this.#options;
    this.#deadline = setTimeout(() => this.#late(), request.timeout).unref();
    const abort = worker.send(target, { ...head, body: this.#pieces }, this);
    // The call may have failed at once.
    if (!this.#hasEnded) this.#abort = abort;
  }

  lose(): void {
    if (!this.#isSent) this.#end(dropped("the body was not forwarded completely"));
  }

  ended(error: Error | null): void {
    if (error === null) {
      this.#end(null);
      return;
    }
    this.#end({ kind: "failed", reason: failureReason(error) });
  }

  /** Ends the copy because the node stops. */
  close(): void {
    this.#abort?.();
    this.#end(dropped("the node stops"));
  }

  #late(): void {
    this.#abort?.();
    this.#end({ kind: "failed", reason: `no complete response within ${this.#options.request.timeout} ms` });
  }

  #forget(): void {
    this.#options.worker.release(this.#length);
    this.#pieces = [];
    this.#length = 0;
  }

  #end(failure: MirrorFailure | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#abort = null;
    clearTimeout(this.#deadline);
    this.#forget();
    this.#options.attempts.endTry();
    this.#options.worker.ended(this);
    this.#options.request.onEnd(failure);
  }
}
