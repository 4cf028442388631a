/** The head of an HTTP/2 request in the form that the pipeline expects. */
import type { GatewayErrorName } from "../../../exchange/gateway-errors.ts";
import type { ClientBody } from "../../client/client-body.ts";
import type { ConnectionPeer } from "../../client/open-connection.ts";
import { FieldSection } from "../../http1/parse/fields.ts";
import { SectionHead } from "../../http1/section-head.ts";

export interface StreamHeadOptions {
  readonly method: string;
  readonly target: string;
  /** Null: there is none. */
  readonly host: string | null;
  readonly fields: FieldSection;
  readonly fault: GatewayErrorName | null;
  readonly declaresEmpty: boolean;
  readonly peer: ConnectionPeer;
  readonly body: ClientBody | null;
}

const RELEASED = new FieldSection({ bytes: 0, count: 0 });

export class StreamHead extends SectionHead {
  readonly method: string;
  readonly target: string;
  readonly httpVersion = "2";
  readonly fault: GatewayErrorName | null;
  readonly peer: ConnectionPeer;
  readonly body: ClientBody | null;
  readonly declaresEmpty: boolean;
  readonly #host: string | null;
  #fields: FieldSection;

  constructor({ method, target, host, fields, fault, declaresEmpty, peer, body }: StreamHeadOptions) {
    super();
    this.method = method;
    this.target = target;
    this.#host = host;
    this.#fields = fields;
    this.fault = fault;
    this.declaresEmpty = declaresEmpty;
    this.peer = peer;
    this.body = body;
  }

  get fields(): FieldSection {
    return this.#fields;
  }

  override header(name: string): string | undefined {
    return name === "host" && this.#host !== null ? this.#host : super.header(name);
  }

  /** Called when the stream has closed: from then on the head has no fields. Returns the storage, to be used again. */
  release(): FieldSection {
    const fields = this.#fields;
    this.#fields = RELEASED;
    return fields;
  }
}
