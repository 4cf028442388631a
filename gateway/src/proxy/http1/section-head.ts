/** The head of a request whose fields are a `FieldSection`: the base of the heads of HTTP/1.1 and of HTTP/2. */
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ClientBody } from "../client/client-body.ts";
import type { ConnectionPeer } from "../client/open-connection.ts";
import type { RequestHead } from "../exchange/request.ts";
import { type FieldSection, headerOf, headerValues, plainLines, rawHeaders } from "./parse/fields.ts";

export abstract class SectionHead implements RequestHead {
  abstract readonly method: string;
  abstract readonly target: string;
  abstract readonly httpVersion: string;
  abstract readonly fault: GatewayErrorName | null;
  abstract readonly peer: ConnectionPeer;
  abstract readonly body: ClientBody | null;
  /** Whether the head has `Content-Length: 0`. */
  abstract readonly declaresEmpty: boolean;
  abstract readonly fields: FieldSection;

  get rawHeaders(): readonly string[] {
    return rawHeaders(this.fields);
  }

  get headerLines(): string | null {
    return plainLines(this.fields);
  }

  header(name: string): string | undefined {
    return headerOf(this.fields, name);
  }

  headerValues(name: string): readonly string[] {
    return headerValues(this.fields, name);
  }
}
