/** Encodes response heads for clients. */
import type { HeaderName } from "@sluice/plugin-sdk";
import type { LiveExchange } from "../../exchange/live-exchange.ts";
import { addGatewayClientHeaders } from "../../headers/client-headers.ts";
import type { HeaderSink, HeaderStyle } from "../../headers/header-names.ts";
import type { DropTable } from "../../http1/head-text.ts";
import { knownFieldIds, knownNames, LOOKALIKE } from "../../http1/parse/field-names.ts";
import { DROP, fieldNameAt, fieldValueAt, headerOf, ID } from "../../http1/parse/fields.ts";
import type { ResponseHeadParser } from "../../http1/parse/response-head.ts";
import { droppedFromResponses } from "../../http1/response-text.ts";
import { currentDate } from "../../response/current-date.ts";
import { connectionSpecific } from "../fields.ts";
import type { HpackEncoder } from "../hpack/encoder.ts";

const SWITCHING_PROTOCOLS = 101;
const OK = 200;
const NO_CONTENT = 204;

export interface TranslatedHead {
  readonly exchange: LiveExchange;
  readonly head: ResponseHeadParser;
  /** Whether the client receives trailers. */
  readonly trailers: boolean;
}

/** Encodes one head at a time; shared by the connections of a listener. */
export class ResponseEncoder implements HeaderSink {
  readonly #style: HeaderStyle;
  readonly #dropped: DropTable;
  #encoder: HpackEncoder | null = null;
  #edits: LiveExchange["responseEdits"] = null;
  /** Collects what is encoded, if a plugin logs the exchange. */
  #sent: string[] | null = null;

  constructor(style: HeaderStyle) {
    this.#style = style;
    this.#dropped = droppedFromResponses(style);
  }

  /**
   * Encodes the head of an HTTP/1.1 upstream after the plugins' edits. The encoder has begun the block. A switch to
   * WebSocket becomes 200 (RFC 8441 section 5).
   */
  translated(encoder: HpackEncoder, { exchange, head, trailers }: TranslatedHead): void {
    const { fields, status } = head;
    this.#encoder = encoder;
    this.#edits = exchange.responseEdits;
    this.#sent = exchange.chain.hasLog ? [] : null;
    const isSwitch = status === SWITCHING_PROTOCOLS;
    encoder.status(isSwitch ? OK : status);
    let isDated = false;
    for (let index = 0; index < fields.count; index++) {
      const kind = fields.kinds[index] ?? 0;
      const id = kind & ID;
      const isTrailer = id === knownFieldIds.trailer && trailers && (kind & LOOKALIKE) === 0;
      if (((kind & DROP) !== 0 || this.#dropped[id] === 1) && !isTrailer) continue;
      if (id === knownFieldIds["content-length"] && (status === NO_CONTENT || isSwitch)) continue;
      if (id === knownFieldIds["sec-websocket-accept"] && isSwitch) continue;
      const known = (kind & LOOKALIKE) === 0 ? knownNames[id] : undefined;
      const name = known ?? fieldNameAt(fields, index).toLowerCase();
      if (id === knownFieldIds.date) isDated = true;
      this.#add(name, fieldValueAt(fields, index));
    }
    addGatewayClientHeaders(this, exchange, { hops: headerOf(fields, "via"), style: this.#style });
    const edits = this.#edits;
    this.#edits = null;
    if (edits !== null) isDated = this.#addAll(edits.applyTo([])) || isDated;
    if (!isDated) this.#add("date", currentDate());
    if (this.#sent !== null) exchange.sentHead = this.#sent;
    this.#encoder = null;
    this.#sent = null;
  }

  add({ lower }: HeaderName, value: string): void {
    this.#add(lower, value);
  }

  /** Encodes a head whose headers are final. */
  listed(encoder: HpackEncoder, status: number, headers: readonly string[]): void {
    this.#encoder = encoder;
    encoder.status(status);
    if (!this.#addAll(headers)) encoder.field("date", currentDate());
    this.#encoder = null;
  }

  /** Returns whether a date is among the headers. */
  #addAll(headers: readonly string[]): boolean {
    let isDated = false;
    for (let at = 0; at < headers.length; at += 2) {
      const lower = (headers[at] ?? "").toLowerCase();
      if (lower === "date") isDated = true;
      if (!connectionSpecific.has(lower)) this.#add(lower, headers[at + 1] ?? "");
    }
    return isDated;
  }

  #add(lower: string, value: string): void {
    if (this.#edits?.replaces(lower)) return;
    this.#sent?.push(lower, value);
    this.#encoder?.field(lower, value);
  }
}
