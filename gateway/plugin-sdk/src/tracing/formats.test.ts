/** The cases follow Kong's tests for the same formats. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { extractContext, type HeaderSource } from "./extract.ts";
import { injectedHeaders } from "./inject.ts";
import { emptyContext, type ReceivedFormat, type TraceContext, type TraceFormat } from "./trace-context.ts";

type Headers = Readonly<Record<string, string | readonly string[]>>;

function sourceOf(headers: Headers): HeaderSource {
  const lists = new Map(Object.entries(headers).map(([name, value]) => [name, [value].flat()]));
  return {
    headerValues: (name) => lists.get(name) ?? [],
    rawHeaders: [...lists].flatMap(([name, values]) => values.flatMap((value) => [name, value])),
  };
}

const trace = "0af7651916cd43dd8448eb211c80319c";
const short = "8448eb211c80319c";
const shortDecimal = "9532127138774266268";
const span = "b7ad6b7169203331";
const spanDecimal = "13235353014750950193";
const parent = "b7ad6b7169203332";
const long = "1234567890".repeat(4);
const padded = `${"0".repeat(16)}${short}`;

const ids = { traceId: trace, spanId: span, traceIdBytes: 16 };
const shared = { ...ids, parentId: parent, sharesSpan: true };
const baggage = new Map([["foo", "b r"]]);

/** Headers, and the members of their context that differ from those of `emptyContext`. */
const valid: readonly (readonly [ReceivedFormat, what: string, Headers, Partial<TraceContext>])[] = [
  ["w3c", "a sampled trace", { traceparent: `00-${trace}-${span}-01` }, { ...ids, sampled: true }],
  ["w3c", "other flags", { traceparent: `00-${trace}-${span}-08` }, { ...ids, sampled: false }],
  ["w3c", "all flags", { traceparent: `00-${trace}-${span}-ef` }, { ...ids, sampled: true }],
  [
    "b3",
    "several headers",
    { "x-b3-traceid": trace, "x-b3-spanid": span, "x-b3-parentspanid": parent, "x-b3-sampled": "1" },
    { ...shared, sampled: true },
  ],
  [
    "b3",
    "a decision that is the name of an inherited property",
    { "x-b3-traceid": trace, "x-b3-sampled": "constructor" },
    { traceId: trace, traceIdBytes: 16, sharesSpan: true },
  ],
  ["b3", "a decision only", { "x-b3-sampled": "0" }, { sampled: false, sharesSpan: true }],
  [
    "b3",
    "a decision by flags",
    { "x-b3-traceid": trace, "x-b3-spanid": span, "x-b3-parentspanid": parent, "x-b3-flags": "1" },
    { ...shared, sampled: true, b3Flags: "1" },
  ],
  [
    "b3",
    "a short trace id",
    { "x-b3-traceid": short, "x-b3-spanid": span, "x-b3-sampled": "true" },
    { traceId: padded, spanId: span, traceIdBytes: 8, sharesSpan: true, sampled: true },
  ],
  [
    "b3",
    "an invalid trace id beside a decision",
    { "x-b3-traceid": "x", "x-b3-spanid": span, "x-b3-sampled": "0" },
    { sampled: false, sharesSpan: true },
  ],
  ["b3", "one header with a decision only", { b3: "1" }, { sampled: true, sharesSpan: true }],
  ["b3", "one header that asks for debugging", { b3: "d" }, { sampled: true, b3Flags: "1", sharesSpan: true }],
  ["b3", "one header", { b3: `${trace}-${span}-0-${parent}` }, { ...shared, sampled: false }],
  ["b3", "one header without a decision", { b3: `${trace}-${span}` }, { ...ids, sharesSpan: true }],
  [
    "b3",
    "the member b3 of tracestate",
    { tracestate: ["x=y", `b3=${trace}-${span}-d-${parent}`] },
    { ...shared, sampled: true, b3Flags: "1" },
  ],
  [
    "jaeger",
    "a header with baggage",
    { "uber-trace-id": `${trace}:${span}:${parent}:01`, "uberctx-foo": "b%20r" },
    { ...shared, sampled: true, baggage },
  ],
  [
    "jaeger",
    "short ids and no parent",
    { "uber-trace-id": "1234:123:0:00" },
    {
      traceId: "1234".padStart(32, "0"),
      spanId: "123".padStart(16, "0"),
      traceIdBytes: 2,
      sharesSpan: true,
      sampled: false,
    },
  ],
  [
    "ot",
    "headers with baggage",
    { "ot-tracer-traceid": trace, "ot-tracer-spanid": span, "ot-tracer-sampled": "1", "ot-baggage-foo": "b%20r" },
    { ...ids, sampled: true, baggage },
  ],
  ["ot", "no decision", { "ot-tracer-traceid": trace, "ot-tracer-spanid": span, "otttbaggage-foo": "x" }, ids],
  [
    "datadog",
    "decimal ids",
    {
      "x-datadog-trace-id": ` ${shortDecimal} `,
      "x-datadog-parent-id": spanDecimal,
      "x-datadog-sampling-priority": "2",
    },
    { traceId: padded, spanId: span, traceIdBytes: 8, sampled: true },
  ],
  [
    "datadog",
    "a parent without a trace",
    { "x-datadog-parent-id": spanDecimal, "x-datadog-sampling-priority": "-1" },
    { sampled: false },
  ],
  [
    "aws",
    "members in any order, with spaces",
    { "x-amzn-trace-id": `Parent=${span}; Foo=bar ;Sampled=1 ; Root = 1-${trace.slice(0, 8)}-${trace.slice(8)}` },
    { ...ids, sampled: true },
  ],
  ["gcp", "a sampled trace", { "x-cloud-trace-context": `${trace}/${spanDecimal};o=1` }, { ...ids, sampled: true }],
  ["gcp", "no flag", { "x-cloud-trace-context": `${trace}/${spanDecimal}` }, { ...ids, sampled: false }],
];

const invalid: readonly (readonly [ReceivedFormat, Headers])[] = [
  ...[`vv-${trace}-${span}-00`, `00-123-${span}-00`, `00-${"0".repeat(32)}-${span}-00`, `00-${long}-${span}-00`].map(
    (traceparent) => ["w3c", { traceparent }] as const,
  ),
  ...[`00-${trace}-123-00`, `00-${trace}-${"0".repeat(16)}-00`, `00-${trace}-${span}-0`, `00-${trace}-${span}-000`].map(
    (traceparent) => ["w3c", { traceparent }] as const,
  ),
  ["w3c", { traceparent: [`00-${trace}-${span}-01`, `00-${trace}-${span}-01`] }],
  ...[
    `xxx-${span}-1`,
    `${long}-${span}-1`,
    `123-${span}-1`,
    "",
    `${trace}-`,
    `${trace}-123-1`,
    `${trace}-${span}-x`,
  ].map((b3) => ["b3", { b3 }] as const),
  ["b3", { tracestate: "x=y" }],
  ...[`vv:${span}:${parent}:00`, `${trace}:vv:${parent}:00`, `${long}:${span}:${parent}:00`, `0:${span}:0:00`].map(
    (header) => ["jaeger", { "uber-trace-id": header }] as const,
  ),
  ["jaeger", { "uber-trace-id": `${trace}:${span}:${parent}:123` }],
  ["ot", { "ot-tracer-traceid": "xx" }],
  ["datadog", { "x-datadog-trace-id": "abc" }],
  ["datadog", { "x-datadog-trace-id": shortDecimal, "x-datadog-sampling-priority": "x" }],
  ["datadog", { "x-datadog-trace-id": shortDecimal, "x-datadog-sampling-priority": "constructor" }],
  ["datadog", { "x-datadog-trace-id": "9".repeat(1000) }],
  ...[`Root=0-${trace.slice(0, 8)}-${trace.slice(8)}`, `Root=${trace}`, `Parent=123`, "Sampled=2", "x"].map(
    (header) => ["aws", { "x-amzn-trace-id": header }] as const,
  ),
  ...[`${trace}/${span};o=1`, `${short}/123`, `${trace}/${"1".repeat(21)}`, `${trace}/1;o=01`].map(
    (header) => ["gcp", { "x-cloud-trace-context": header }] as const,
  ),
];

describe("a received trace context", () => {
  for (const [format, what, headers, expected] of valid) {
    it(`of the format ${format} is read: ${what}`, () => {
      const isSingle = format === "b3" && !Object.keys(headers).some((name) => name.startsWith("x-b3"));
      const { isSingle: _, ...found } = (extractContext(sourceOf(headers), [format]) ?? {}) as { isSingle?: boolean };
      assert.deepEqual(found, { ...emptyContext, ...expected, format: isSingle ? "b3-single" : format });
    });
  }

  for (const [format, headers] of invalid) {
    it(`of the format ${format} is ignored if it is invalid: ${JSON.stringify(headers).slice(0, 90)}`, () => {
      assert.equal(extractContext(sourceOf(headers), [format]), null);
    });
  }

  it("has the first of the given formats that the request contains", () => {
    const headers = { traceparent: `00-${trace}-${span}-01`, tracestate: "x=y", "uber-trace-id": `1:1:0:1` };
    assert.equal(extractContext(sourceOf(headers), ["b3", "w3c", "jaeger"])?.format, "w3c");
  });
});

const context = { ...emptyContext, traceId: trace, spanId: span, parentId: parent, sampled: true };
const undecided = { ...context, parentId: null, sampled: null };
const received8 = { ...context, traceId: padded, traceIdBytes: 8 };

const written: readonly (readonly [
  TraceFormat,
  what: string,
  typeof context | typeof undecided,
  Headers,
  id: string,
])[] = [
  ["w3c", "a sampled trace", context, { traceparent: `00-${trace}-${span}-01` }, trace],
  ["w3c", "a short id padded with zeros", received8, { traceparent: `00-${padded}-${span}-01` }, padded],
  [
    "b3",
    "all headers",
    context,
    { "x-b3-traceid": trace, "x-b3-spanid": span, "x-b3-parentspanid": parent, "x-b3-sampled": "1" },
    trace,
  ],
  [
    "b3",
    "flags instead of a decision",
    { ...context, b3Flags: "1" },
    { "x-b3-traceid": trace, "x-b3-spanid": span, "x-b3-parentspanid": parent, "x-b3-flags": "1" },
    trace,
  ],
  [
    "b3",
    "an id of the received size",
    received8,
    { "x-b3-traceid": short, "x-b3-spanid": span, "x-b3-parentspanid": parent, "x-b3-sampled": "1" },
    short,
  ],
  ["b3-single", "all fields", context, { b3: `${trace}-${span}-1-${parent}` }, trace],
  ["b3-single", "the flag for debugging", { ...context, b3Flags: "1" }, { b3: `${trace}-${span}-d-${parent}` }, trace],
  ["b3-single", "no decision", undecided, { b3: `${trace}-${span}` }, trace],
  [
    "jaeger",
    "baggage",
    { ...context, baggage },
    { "uber-trace-id": `${trace}:${span}:${parent}:01`, "uberctx-foo": "b%20r" },
    trace,
  ],
  ["jaeger", "no parent", undecided, { "uber-trace-id": `${trace}:${span}:0:00` }, trace],
  [
    "ot",
    "baggage, and the short id by default",
    { ...context, baggage },
    { "ot-tracer-traceid": short, "ot-tracer-spanid": span, "ot-tracer-sampled": "1", "ot-baggage-foo": "b%20r" },
    short,
  ],
  [
    "ot",
    "an id of the received size, and no decision",
    { ...undecided, traceIdBytes: 16 },
    { "ot-tracer-traceid": trace, "ot-tracer-spanid": span },
    trace,
  ],
  [
    "datadog",
    "decimal ids",
    { ...context, sampled: false },
    { "x-datadog-trace-id": shortDecimal, "x-datadog-parent-id": spanDecimal, "x-datadog-sampling-priority": "0" },
    shortDecimal,
  ],
  [
    "aws",
    "one header",
    context,
    { "x-amzn-trace-id": `Root=1-${trace.slice(0, 8)}-${trace.slice(8)};Parent=${span};Sampled=1` },
    trace,
  ],
  ["gcp", "a decimal span id", context, { "x-cloud-trace-context": `${trace}/${spanDecimal};o=1` }, trace],
];

describe("a sent trace context", () => {
  for (const [format, what, sent, headers, id] of written) {
    it(`of the format ${format} has ${what}`, () => {
      const found = injectedHeaders(sent, format);
      assert.deepEqual(found.headers, headers);
      assert.deepEqual(found.loggedId, { name: format === "b3-single" ? "b3" : format, value: id });
    });
  }
});
