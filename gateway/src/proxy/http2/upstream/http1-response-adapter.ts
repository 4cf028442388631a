/** Passes HTTP/1.1 responses of upstreams to HTTP/2 clients. */

import type { GatewayErrorName } from "../../../exchange/gateway-errors.ts";
import { nameAt, valueAt } from "../../http1/parse/access.ts";
import { DROP, type FieldSection } from "../../http1/parse/fields.ts";
import { CHUNKED_BODY, NO_BODY } from "../../http1/parse/framing.ts";
import type { ResponseHeadParser } from "../../http1/parse/response-head.ts";
import type { UpstreamCallListener } from "../../http1/upstream/upstream-call.ts";
import type { ByteView } from "../../sockets/byte-view.ts";
import type { ResponseListener } from "./response-listener.ts";

export class Http1ResponseAdapter implements UpstreamCallListener {
  readonly #listener: ResponseListener;

  constructor(listener: ResponseListener) {
    this.#listener = listener;
  }

  interim({ status, fields }: ResponseHeadParser): void {
    this.#listener.interim(status, passedFields(fields));
  }

  head({ status, fields, bodyKind }: ResponseHeadParser): void {
    const headers = passedFields(fields);
    this.#listener.head({ status, headers, ended: bodyKind === NO_BODY, trailers: bodyKind === CHUNKED_BODY });
  }

  data(view: ByteView): void {
    this.#listener.data(view.keep());
  }

  end(trailers: FieldSection | null): void {
    this.#listener.end(trailers === null ? null : passedFields(trailers));
  }

  flush(): boolean {
    return this.#listener.flush();
  }

  /** Never called: no HTTP/2 request asks for an upgrade. */
  upgraded(): void {}

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#listener.failed(fault, error);
  }

  broken(error: Error): void {
    this.#listener.broken(error);
  }
}

/** The fields without hop-by-hop fields. */
function passedFields(section: FieldSection): string[] {
  const flat: string[] = [];
  for (let index = 0; index < section.count; index++) {
    if (((section.kinds[index] ?? 0) & DROP) === 0) flat.push(nameAt(section, index), valueAt(section, index));
  }
  return flat;
}
