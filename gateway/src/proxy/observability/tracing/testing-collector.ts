/** A collector of traces for tests: it receives spans by OTLP, as JSON over HTTP, and keeps them. */
import type { RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { TestContext } from "node:test";
import { listen, portOf, startUpstream } from "../../../../../test/conformance/engine/proxy-rig.ts";
import type { KeyPair } from "../../../../../tools/programs/certificates.ts";

export interface CollectedTraces {
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
}

interface OtlpSpan extends Omit<CollectedTraces, "attributes" | "failed" | "parentSpanId"> {
  readonly parentSpanId?: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[];
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: Pick<OtlpSpan, "attributes">;
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedTraces[];
  /** Method, URL and body of all requests received. */
  readonly text: () => string;
  readonly resource: () => Readonly<Record<string, string | number>>;
}

const ERROR = 2;

/** @param pair The certificate and key with which the collector speaks TLS. Default: plain HTTP */
export async function startTraceCollector(context: TestContext, pair?: KeyPair): Promise<Collector> {
  const spans: CollectedTraces[] = [];
  let text = "";
  let resource = {};
  const receive: RequestListener = async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    text += `${incoming.method} ${incoming.url} ${body}\n`;
    for (const { resource: about, scopeSpans } of (JSON.parse(body) as OtlpRequest).resourceSpans) {
      resource = plain(about.attributes);
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map(collected)));
    }
    response.setHeader("content-type", "application/json").end("{}");
  };
  const server =
    pair === undefined
      ? await startUpstream(context, receive)
      : await listen(context, createSecureServer({ cert: pair.certificate, key: pair.key }, receive));
  const url = `${pair === undefined ? "http" : "https"}://127.0.0.1:${portOf(server)}`;
  return { url, spans, text: () => text, resource: () => resource };
}

const collected = ({
  name,
  kind,
  traceId,
  spanId,
  parentSpanId = "",
  status,
  attributes,
}: OtlpSpan): CollectedTraces => ({
  ...{ name, kind, traceId, spanId, parentSpanId },
  failed: status?.code === ERROR,
  attributes: plain(attributes),
});

const plain = (attributes: OtlpSpan["attributes"]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const));
