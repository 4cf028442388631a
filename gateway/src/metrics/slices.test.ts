import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { metricsFromJsonLines, metricsToJsonLines } from "./data-lines.ts";
import { MetricSum, metricsPartsOf, metricsText } from "./slices.ts";
import { MetricTable, ReadTable } from "./table.ts";
import { printMetrics } from "./testing-text.ts";

const labelNames = ["service", "route"];
const bounds = [1, 2.5, 10];
const shapes = {
  counter: { type: "counter", name: "c_total", help: 'a "help"\\ of\ntwo lines', labelNames, bounds: null },
  histogram: { type: "histogram", name: "h_ms", help: "of milliseconds", labelNames, bounds },
  gauge: { type: "gauge", name: "g", help: "of now", labelNames, bounds: null },
} as const;
const empty = () => ({
  counter: new MetricTable(shapes.counter, 1000),
  histogram: new MetricTable(shapes.histogram, 1000),
});

/** A counter and a histogram of prom-client, and a function that returns the text that prom-client prints for them. */
function reference() {
  const registry = new Registry();
  const registers = [registry];
  const { counter, histogram } = shapes;
  return {
    counter: new Counter({ ...counter, labelNames, registers }),
    histogram: new Histogram({ ...histogram, labelNames, buckets: bounds, registers }),
    text: () => registry.metrics(),
  };
}

const label = fc.oneof(
  fc.constantFrom("a", "b", "", 'qu"ote', "back\\slash", "two\nlines", "\\n", "é€😀"),
  fc.string({ maxLength: 6, unit: "binary" }),
);
const events = fc.array(
  fc.record({
    labels: fc.tuple(label, label),
    count: fc.oneof(fc.integer({ min: 0, max: 2 ** 40 }), fc.double({ min: 0, max: 1e300, noNaN: true })),
    took: fc.oneof(fc.constantFrom(...bounds), fc.double({ min: 0, max: 1e9, noNaN: true })),
  }),
  { maxLength: 30 },
);
type Events = readonly { labels: [string, string]; count: number; took: number }[];

function record(list: Events, { counter, histogram } = empty()) {
  for (const { labels, count, took } of list) {
    counter.increase(counter.of(labels), count);
    histogram.observe(histogram.of(labels), took);
  }
  return [counter, histogram];
}

describe("the text of tables", () => {
  it("is exactly the text that prom-client prints for the same values", async () => {
    const check = fc.asyncProperty(events, async (list) => {
      const wanted = reference();
      for (const { labels, count, took } of list) {
        const [service, route] = labels;
        wanted.counter.inc({ service, route }, count);
        wanted.histogram.observe({ service, route }, took);
      }
      assert.equal(await printMetrics(record(list)), await wanted.text());
    });
    await fc.assert(check, { numRuns: 300 });
  });

  it("contains the current values of gauges that are read at a scrape, as with prom-client", async () => {
    let value = 1;
    const table = new ReadTable(shapes.gauge, () => [
      [["a", "b"], value],
      [["a", "c"], 0],
    ]);
    const registry = new Registry();
    const gauge = new Gauge({ ...shapes.gauge, labelNames, registers: [registry] });
    gauge.set({ service: "a", route: "c" }, 0);
    for (value of [2, 3]) {
      gauge.remove({ service: "a", route: "c" });
      gauge.set({ service: "a", route: "b" }, value);
      gauge.set({ service: "a", route: "c" }, 0);
      assert.equal(await printMetrics([table]), await registry.metrics());
    }
    const sum = new MetricSum();
    for (const _node of [1, 2]) await sum.addAll(metricsPartsOf([table]));
    assert.match(await printMetrics(sum.tables), /^# TYPE g gauge\ng\{service="a",route="b"\} 6$/m);
  });

  it("is generated in slices, between which the event loop runs, even while series change", async () => {
    const { counter, histogram } = empty();
    const table = new MetricTable(shapes.histogram, 4000);
    for (let n = 0; n < 4000; n++) table.observe(table.of([`service-of-some-length-${n}`, "route"]), n);
    let turns = 0;
    const count = () => {
      turns++;
      // Adds a series. At its limit, the table drops its oldest series.
      table.observe(table.of(["new", String(turns)]), 1);
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    const slices: string[] = [];
    for await (const slice of metricsText([counter, table, histogram])) slices.push(Buffer.from(slice).toString());
    clearImmediate(immediate);
    assert.ok(slices.length > 5 && turns >= slices.length - 3, `${slices.length} slices in ${turns} turns`);
    assert.ok(slices.every((slice) => slice.length < 64 * 1024));
    const series = slices.join("").match(/(?<=_count\{)[^}]+/g) ?? [];
    assert.deepEqual([series.length, new Set(series).size], [4000, 4000]);
  });
});

describe("the content of tables that is sent in parts", () => {
  it("adds up to the content of a single table, whether the parts are cloned or sent as lines of JSON", async () => {
    const whole = fc.asyncProperty(fc.array(events, { minLength: 1, maxLength: 3 }), async (lists) => {
      // Sums of fractions depend on the order of addition.
      const rounded = lists.map((list) =>
        list.map((e) => ({ ...e, count: (e.count % 1000) | 0, took: (e.took % 1000) | 0 })),
      );
      const sum = new MetricSum();
      for (const [at, list] of rounded.entries()) {
        const tables = record(list);
        if (at % 2 === 0) for await (const part of metricsPartsOf(tables)) sum.add(structuredClone(part));
        else await sum.addAll(await throughJson(tables));
      }
      assert.equal(await printMetrics(sum.tables), await printMetrics(record(rounded.flat())));
    });
    await fc.assert(whole, { numRuns: 100 });
  });

  it("is rejected when the end of a line is missing", async () => {
    const read = Array.fromAsync(metricsFromJsonLines(bytesOf(['{"gauges":[]}\n{"part":'])));
    await assert.rejects(read, /last line is not terminated/);
  });
});

/** The bytes of the lines in chunks, which are cut at any byte, also within a character. */
async function* bytesOf(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from((await Array.fromAsync(lines)).join(""));
  for (let at = 0; at < bytes.length; at += 97) yield bytes.subarray(at, at + 97);
}

async function throughJson(tables: readonly MetricTable[]) {
  return Array.fromAsync(metricsFromJsonLines(bytesOf(metricsToJsonLines(metricsPartsOf(tables)))));
}

it("Sum keeps only the later part of a metric if the label names of two parts differ, as after a plugin is loaded again", async () => {
  const sum = new MetricSum();
  for (const [labelNames, labels] of [
    [["kind"], ["a"]],
    [
      ["kind", "size"],
      ["a", "b"],
    ],
  ] as const) {
    const shape = { type: "counter", name: "events", help: "Events.", labelNames, bounds: null } as const;
    sum.add({ shape, labels: [labels], numbers: [1] });
  }
  const text = await printMetrics(sum.tables);
  assert.match(text, /^events\{kind="a",size="b"\} 1$/m);
  assert.doesNotMatch(text, /^events\{kind="a"\}/m);
});
