import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { type PropagationConfig, propagate, propagationOf, receivedContext } from "./propagation.ts";
import { emptyContext } from "./trace-context.ts";

const trace = "0af7651916cd43dd8448eb211c80319c";
const span = "b7ad6b7169203331";
const own = { ...emptyContext, traceId: trace, spanId: span, sampled: true };
const w3c = { traceparent: `00-${trace}-${span}-01` };
const b3Single = { b3: `${trace}-${span}-1` };

type Members = Partial<Omit<PropagationConfig, "propagation">> & {
  readonly propagation?: Partial<PropagationConfig["propagation"]>;
};

/**
 * Returns the names of the headers that are set and removed for the upstream, the names of the logged ids, and the
 * format of the received context (null if no context was found).
 */
function sent({ propagation, ...members }: Members, headers: Readonly<Record<string, string>>) {
  const config: PropagationConfig = {
    header_type: "preserve",
    ...members,
    propagation: { extract: null, clear: null, inject: null, default_format: "w3c", ...propagation },
  };
  const exchange = fakeExchange({ headers });
  const rules = propagationOf(config);
  const received = receivedContext(exchange, rules);
  propagate(exchange, rules, { context: { ...(received ?? emptyContext), ...own }, received });
  const after = Object.keys(headers).filter(
    (name) => exchange.upstreamHeaderValues(name as Lowercase<string>).length === 0,
  );
  return {
    set: Object.keys(exchange.upstreamHeaders.all()).toSorted(),
    removed: after,
    logged: [...exchange.logFields.keys()],
    received: received?.format ?? null,
  };
}

const cases: readonly (readonly [
  what: string,
  Members,
  headers: Readonly<Record<string, string>>,
  expected: object,
])[] = [
  ["preserve keeps the format", {}, w3c, { set: ["traceparent"], received: "w3c" }],
  [
    "preserve keeps the single header of B3",
    {},
    b3Single,
    { set: ["b3"], received: "b3-single", logged: ["trace_id.b3"] },
  ],
  ["preserve uses the default format if no context was received", {}, {}, { set: ["traceparent"], received: null }],
  [
    "preserve uses default_header_type if no context was received",
    { default_header_type: "datadog" },
    {},
    { set: ["x-datadog-parent-id", "x-datadog-sampling-priority", "x-datadog-trace-id"], logged: ["trace_id.datadog"] },
  ],
  [
    "ignore begins a trace, although the request has a context",
    { header_type: "ignore" },
    b3Single,
    { set: ["traceparent"], received: null },
  ],
  [
    "a format in header_type is added to the received one",
    { header_type: "gcp" },
    w3c,
    { set: ["traceparent", "x-cloud-trace-context"] },
  ],
  [
    "propagation.inject replaces header_type",
    { header_type: "gcp", propagation: { inject: ["aws"] } },
    w3c,
    {
      set: ["x-amzn-trace-id"],
      received: null,
    },
  ],
  [
    "propagation.extract alone sets no header",
    { propagation: { extract: ["w3c"] } },
    w3c,
    { set: [], received: "w3c" },
  ],
  [
    "the context is read before its header is removed",
    { propagation: { extract: ["b3"], clear: ["B3"], inject: ["w3c", "jaeger"] } },
    b3Single,
    {
      set: ["traceparent", "uber-trace-id"],
      removed: ["b3"],
      received: "b3-single",
      logged: ["trace_id.w3c", "trace_id.jaeger"],
    },
  ],
  [
    "a header that `clear` names is set again if it belongs to a format that `inject` selects",
    { propagation: { clear: ["traceparent"], inject: ["preserve"] } },
    w3c,
    {
      set: ["traceparent"],
      removed: [],
      received: null,
    },
  ],
];

describe("propagation of trace headers", () => {
  for (const [what, members, headers, expected] of cases) {
    it(what, () => {
      const found = sent(members, headers);
      assert.deepEqual({ ...found, ...expected }, found);
    });
  }
});
