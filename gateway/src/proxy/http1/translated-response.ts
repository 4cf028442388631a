/** Translates the response of an HTTP/2 upstream for an HTTP/1.1 client. */
import type { StreamCallOptions } from "../http2/upstream/stream-call.ts";
import type { UpstreamHead } from "../http2/upstream/upstream-stream.ts";
import type { ByteView } from "../sockets/byte-view.ts";
import { unreadable } from "../upstream/failure.ts";
import { FieldSection, scanFields } from "./parse/fields.ts";
import { ResponseHeadParser } from "./parse/response-head.ts";
import type { Http1CallListener } from "./upstream/http1-call.ts";

type StreamListener = StreamCallOptions["listener"];

/** Field lines and the empty line after them. Neither names nor values of HTTP/2 can contain line breaks. */
function linesOf(fields: readonly string[]): string {
  let lines = "";
  for (let at = 0; at < fields.length; at += 2) lines += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${lines}\r\n`;
}

/** Null: the head has too many fields, or cannot be written as an HTTP/1.1 head. */
function headOf({ status, headers }: UpstreamHead): ResponseHeadParser | null {
  const bytes = Buffer.from(`HTTP/1.1 ${status} \r\n${linesOf(headers)}`, "latin1");
  const head = new ResponseHeadParser();
  return head.parse(bytes, 0, bytes.length) > 0 ? head : null;
}

/** Null: the trailers cannot be written as field lines of HTTP/1.1. */
function trailersOf(fields: readonly string[]): FieldSection | null {
  const bytes = Buffer.from(linesOf(fields), "latin1");
  const section = new FieldSection({ bytes: bytes.length, count: fields.length / 2 });
  section.begin(0);
  return scanFields(section, bytes, bytes.length) > 0 ? section : null;
}

export class TranslatedResponse implements StreamListener {
  readonly #listener: Http1CallListener;
  /** Cancels the request to the upstream. */
  readonly #abort: () => void;

  constructor(listener: Http1CallListener, abort: () => void) {
    this.#listener = listener;
    this.#abort = abort;
  }

  interim(received: UpstreamHead): void {
    const head = headOf(received);
    if (head === null) return;
    this.#listener.interim(head);
    this.#listener.flush();
  }

  head(received: UpstreamHead): void {
    const head = headOf(received);
    if (head !== null) {
      this.#listener.head(head);
      // Flushed at once, because the first message of a stream may come much later.
      this.#listener.flush();
    } else {
      this.#abort();
      this.#listener.failed("badUpstream", unreadable("its head cannot be sent over HTTP/1.1"));
    }
  }

  data(view: ByteView): void {
    this.#listener.data(view);
  }

  end(trailers: readonly string[] | null): void {
    this.#listener.end(trailers === null ? null : trailersOf(trailers));
  }

  flush(): boolean {
    return this.#listener.flush();
  }

  failed(...given: Parameters<StreamListener["failed"]>): void {
    this.#listener.failed(...given);
  }

  broken(error: Error): void {
    this.#listener.broken(error);
  }

  aborted(): void {
    this.#listener.aborted?.();
  }
}
