/** The filters that plugins set for the body of one response, as a chain in order of priority. */
import type { Transform } from "node:stream";
import type {
  BodyObserver,
  BufferingBodyFilter,
  DirectResponse,
  StreamingBodyFilter,
  TransformingBodyFilter,
} from "@sluice/plugin-sdk";
import type { PluginStep } from "../../compile/runtime.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { isGrpc } from "../exchange/protocols.ts";
import { type ResponseHead, rawHeaderValues } from "../headers/raw-headers.ts";
import type { GatewayResponse } from "./gateway-response.ts";

/** A body is longer than a filter may buffer, and the filter has `longer: "refused"`. */
export class BodyTooLongError extends Error {
  override readonly name = "BodyTooLongError";

  constructor(limit: number) {
    super(`the body of the response is longer than the ${limit} bytes that a plugin may buffer`);
  }
}

/** A plugin returned a response that replaces the present one. */
export class ReplacedResponseError extends Error {
  override readonly name = "ReplacedResponseError";
  readonly response: DirectResponse;

  constructor(response: DirectResponse) {
    super("a plugin replaced the response");
    this.response = response;
  }
}

interface Stage {
  /** Whether the stage still buffers the body, so that the head may still change. */
  readonly isHolding: boolean;
  filter(piece: Buffer): readonly Buffer[];
  end(trailers: readonly string[]): readonly Buffer[];
}

interface PluginStage {
  readonly step: PluginStep;
  readonly stage: Stage;
}

interface PluginTransform {
  readonly step: PluginStep;
  readonly filter: TransformingBodyFilter;
}

/** What the plugins have set for one response. */
interface OpenedFilters {
  readonly stages: readonly PluginStage[];
  readonly transforms: readonly PluginTransform[];
  readonly observers: readonly BodyObserver[];
}

export class BodyFilters {
  readonly #exchange: LiveExchange;
  readonly #stages: readonly PluginStage[];
  readonly #transforms: readonly PluginTransform[];
  readonly #observers: readonly BodyObserver[];

  private constructor(exchange: LiveExchange, { stages, transforms, observers }: OpenedFilters) {
    this.#exchange = exchange;
    this.#stages = stages;
    this.#transforms = transforms;
    this.#observers = observers;
  }

  /**
   * Runs the phase `responseBody`. Returns null if no plugin filters or observes this body. Throws the errors of
   * plugins, BodyTooLongError, and ReplacedResponseError. After an error, `currentStep` is the plugin's step, as after
   * an error of `filter` or `end`.
   */
  static open(exchange: LiveExchange, head: ResponseHead): BodyFilters | null {
    const steps = exchange.chain.bodySteps;
    if (steps === null || steps.length === 0 || !mayHaveBody(exchange, head.status)) return null;
    const { isDelimited = true } = head;
    const stages: PluginStage[] = [];
    const transforms: PluginTransform[] = [];
    const observers: BodyObserver[] = [];
    const { currentStep } = exchange;
    for (const step of steps) {
      exchange.currentStep = step;
      const filter = step.phases.responseBody?.(exchange) ?? null;
      if (filter !== null && "status" in filter) throw new ReplacedResponseError(filter);
      if (filter !== null && "observe" in filter) {
        if (isDelimited) observers.push(filter);
      } else if (filter !== null && "transform" in filter) {
        transforms.push({ step, filter });
        // The declared length is that of the body before any filter, so it counts only while no earlier filter changes
        // the body.
      } else if (filter !== null && (stages.length > 0 || !passesUnchanged(filter, lengthIn(head)))) {
        const stage = "whole" in filter ? new BufferingStage(filter) : new StreamingStage(filter);
        stages.push({ step, stage });
      }
    }
    exchange.currentStep = currentStep;
    const isEmpty = stages.length === 0 && transforms.length === 0 && observers.length === 0;
    return isEmpty ? null : new BodyFilters(exchange, { stages, transforms, observers });
  }

  /** Whether a filter may change the body before the streams; false: all others only observe it. */
  get changesBody(): boolean {
    return this.#stages.length > 0;
  }

  /** Whether the body passes through streams after the other filters. */
  get hasTransforms(): boolean {
    return this.#transforms.length > 0;
  }

  /** Opens the streams, in the order in which the body passes through them. Throws the errors of plugins. */
  openTransforms(): readonly Transform[] {
    const { currentStep } = this.#exchange;
    const streams: Transform[] = [];
    try {
      for (const { step, filter } of this.#transforms) {
        this.#exchange.currentStep = step;
        const stream = filter.transform();
        if (!isStream(stream)) throw new TypeError("`transform` of a body filter returned no stream");
        streams.push(stream);
      }
    } catch (error) {
      for (const stream of streams) stream.destroy();
      throw error;
    }
    this.#exchange.currentStep = currentStep;
    return streams;
  }

  /** Whether a filter still buffers the body, so that the head may change. While true, `filter` returns no bytes. */
  get isHolding(): boolean {
    return this.#stages.some(({ stage }) => stage.isHolding);
  }

  /** Returns the bytes to send for this piece. Throws the errors of plugins and BodyTooLongError, like `end`. */
  filter(piece: Buffer): readonly Buffer[] {
    this.observe(piece);
    let pieces: readonly Buffer[] = [piece];
    const { currentStep } = this.#exchange;
    for (const { step, stage } of this.#stages) {
      this.#exchange.currentStep = step;
      pieces = takeAll(stage, pieces);
    }
    this.#exchange.currentStep = currentStep;
    return pieces;
  }

  /**
   * Returns the bytes to send at the end of the body.
   *
   * @param trailers The trailers of the upstream's response as a flat list
   */
  end(trailers: readonly string[]): readonly Buffer[] {
    let pieces: readonly Buffer[] = [];
    const { currentStep } = this.#exchange;
    for (const { step, stage } of this.#stages) {
      this.#exchange.currentStep = step;
      pieces = [...takeAll(stage, pieces), ...stage.end(trailers)];
    }
    this.#exchange.currentStep = currentStep;
    this.complete();
    return pieces;
  }

  /** Shows a piece to the observers only, for a body that is sent as it is. */
  observe(piece: Buffer): void {
    for (const observer of this.#observers) observer.observe(piece);
  }

  /** Reports the end of the body to the observers only. */
  complete(): void {
    for (const observer of this.#observers) observer.complete();
  }
}

/** Returns the filtered body of a response, and sets its Content-Length. Throws as `BodyFilters.open` and `filter` do. */
export function filteredBody(exchange: LiveExchange, response: GatewayResponse): GatewayResponse["body"] {
  const filters = BodyFilters.open(exchange, response);
  if (filters === null) return response.body;
  if (!filters.changesBody) {
    filters.observe(Buffer.from(response.body));
    filters.complete();
    return response.body;
  }
  const first = filters.filter(Buffer.from(response.body));
  const body = Buffer.concat([...first, ...filters.end([])]);
  exchange.responseHeaders.set("Content-Length", String(body.length));
  return body;
}

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

/** Whether plugins may see the body of the response. Also true for a response to HEAD. */
export const mayHaveBody = (exchange: LiveExchange, status: number): boolean =>
  status !== NO_CONTENT && status !== NOT_MODIFIED && !exchange.lacksBody && !isGrpc(exchange.request);

/** The declared length of the body; 0: none. */
function lengthIn(head: ResponseHead): number {
  const name = "content-length";
  const [length = "0"] = head.valuesOf?.(name) ?? rawHeaderValues(head.headers, name);
  return Number(length);
}

/**
 * Whether the filter leaves a body of this length unchanged, because the body is longer than the filter's limit. Throws
 * BodyTooLongError if the filter refuses such a body instead.
 */
function passesUnchanged(filter: BufferingBodyFilter | StreamingBodyFilter, length: number): boolean {
  if (!("whole" in filter) || length <= filter.limit) return false;
  if (filter.longer === "refused") throw new BodyTooLongError(filter.limit);
  return true;
}

const takeAll = (stage: Stage, pieces: readonly Buffer[]): readonly Buffer[] =>
  pieces.flatMap((piece) => stage.filter(piece));

/** Not `instanceof`: packages such as readable-stream have their own classes. */
const isStream = (value: Partial<Transform> | null | undefined): boolean =>
  typeof value?.write === "function" && typeof value.pipe === "function";

/** Leaves out an empty piece, which would end a chunked body. Throws if a plugin returned something else. */
function nonEmpty(piece: Buffer): readonly Buffer[] {
  // A package in JavaScript may return a text or a promise, which cannot be written.
  if (!Buffer.isBuffer(piece)) throw new TypeError("a body filter returned no Buffer");
  return piece.length === 0 ? [] : [piece];
}

class StreamingStage implements Stage {
  readonly isHolding = false;
  readonly #filter: StreamingBodyFilter;

  constructor(filter: StreamingBodyFilter) {
    if (typeof filter.piece !== "function") throw new TypeError("the phase responseBody returned no body filter");
    this.#filter = filter;
  }

  filter(piece: Buffer): readonly Buffer[] {
    return nonEmpty(this.#filter.piece(piece));
  }

  end(trailers: readonly string[]): readonly Buffer[] {
    return this.#filter.end === undefined ? [] : nonEmpty(this.#filter.end(trailers));
  }
}

class BufferingStage implements Stage {
  readonly #filter: BufferingBodyFilter;
  /** Null after the end, or when the body was too long. */
  #buffered: Buffer[] | null = [];
  #length = 0;

  constructor(filter: BufferingBodyFilter) {
    this.#filter = filter;
  }

  get isHolding(): boolean {
    return this.#buffered !== null;
  }

  filter(piece: Buffer): readonly Buffer[] {
    const buffered = this.#buffered;
    if (buffered === null) return [piece];
    buffered.push(piece);
    this.#length += piece.length;
    const { limit, longer } = this.#filter;
    if (this.#length <= limit) return [];
    if (longer === "refused") throw new BodyTooLongError(limit);
    this.#buffered = null;
    return buffered;
  }

  end(): readonly Buffer[] {
    const buffered = this.#buffered;
    if (buffered === null) return [];
    this.#buffered = null;
    return nonEmpty(this.#filter.whole(Buffer.concat(buffered)));
  }
}
