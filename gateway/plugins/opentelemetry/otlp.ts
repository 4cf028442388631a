/** Requests of the OTLP/HTTP protocol, as Protobuf. OpenTelemetry's own serializer is loaded on first use. */
import { sdkVersion } from "@sluice/plugin-sdk";
import type { QueuedSpan } from "./spans.ts";

const NANOSECONDS = 1e6;

/** Converts Unix milliseconds to seconds and nanoseconds. */
function hrTime(milliseconds: number): [number, number] {
  const whole = Math.floor(milliseconds);
  return [Math.floor(whole / 1000), (whole % 1000) * NANOSECONDS + Math.round((milliseconds - whole) * NANOSECONDS)];
}

/** `TraceFlags.SAMPLED` of OpenTelemetry's API. */
const SAMPLED = 1;
/** Two values of `SpanStatusCode` of OpenTelemetry's API. */
const UNSET = 0;
const ERROR = 2;

const scope = { name: "sluice", version: sdkVersion };

export function resourceOf(attributes: Readonly<Record<string, string>> | null) {
  return { "service.name": "sluice", "service.version": sdkVersion, ...attributes };
}

/**
 * The body of a request to the collector.
 *
 * @param entries Each a span as JSON (`QueuedSpan`)
 */
export async function traceRequest(
  entries: readonly string[],
  resource: Readonly<Record<string, string>>,
): Promise<Buffer> {
  const { ProtobufTraceSerializer } = await import("@opentelemetry/otlp-transformer");
  const about = { attributes: resource, getRawAttributes: () => Object.entries(resource) };
  const spans = entries.map((entry) => {
    const { traceId, spanId, parentId, name, kind, start, end, attributes, hasFailed } = JSON.parse(
      entry,
    ) as QueuedSpan;
    const contextOf = (id: string) => ({ traceId, spanId: id, traceFlags: SAMPLED });
    return {
      name,
      kind,
      spanContext: () => contextOf(spanId),
      ...(parentId !== null && { parentSpanContext: contextOf(parentId) }),
      startTime: hrTime(start),
      endTime: hrTime(end),
      status: { code: hasFailed ? ERROR : UNSET },
      attributes,
      links: [],
      events: [],
      duration: hrTime(Math.max(0, end - start)),
      ended: true,
      resource: about,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  });
  const bytes = ProtobufTraceSerializer.serializeRequest(spans as never);
  if (bytes === undefined) throw new Error("the spans could not be serialized");
  return Buffer.from(bytes);
}
