import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type BodyFilter, middleware, type PluginContext, type PluginPhases } from "@sluice/plugin-sdk";
import { fakeExchange, fakeScope, fakeServices, pluginsWithPhases } from "../../../test/plugins/fake-exchange.ts";
import { InstanceContext } from "./instance-context.ts";
import { measuredPlugins } from "./phase-meter.ts";

const words = { running: new Int32Array(1), ticks: new Int32Array(1) };
const runningNow = (): number => words.running[0] as number;
/** Simulates an event loop that is blocked for 200 ms: advances the ticks as the control thread does meanwhile. */
function block(): void {
  words.ticks[0] = (words.ticks[0] as number) + 9;
}

// Measured calls take no time, so a pause of the whole machine does not count as a call that blocks.
mock.method(performance, "now", () => 0);

interface Metered {
  readonly phases: PluginPhases;
  /** Plugin and phase of each measured call. */
  readonly observed: string[];
  readonly warnings: unknown[];
  end(): void;
}

/** An instance of a plugin with these phases. */
function meter(phasesOf: (context: PluginContext) => PluginPhases): Metered {
  const [observed, warnings]: [string[], unknown[]] = [[], []];
  const plugin = pluginsWithPhases((_config, context) => phasesOf(context)).get("cors");
  assert.ok(plugin);
  const measured = measuredPlugins([plugin], {
    words,
    metrics: { observePlugin: (name, phase) => void observed.push(`${name} ${phase}`) },
    log: { warn: (facts) => void warnings.push(facts), error: (facts) => void warnings.push(facts) },
  }).get(plugin.name);
  assert.ok(measured);
  const context = new InstanceContext(plugin.name, fakeScope(), fakeServices());
  return { phases: measured.phases({}, context), observed, warnings, end: () => context.end() };
}

const warningOf = (phase: string) => ({ plugin: "cors", phase, milliseconds: 200 });
const exchange = fakeExchange();
const held = { status: 200, headers: [], hasBody: false, body: async () => null };
const bytes = Buffer.from("x");

/** A phase, the phases of a plugin that runs the given code in this phase, and a call of the phase. */
const rows: readonly (readonly [
  phase: string,
  with_: (work: () => void) => PluginPhases,
  call: (phases: PluginPhases) => unknown,
])[] = [
  ["access", (work) => ({ access: () => void work() }), (phases) => phases.access?.(exchange)],
  ["response", (work) => ({ response: () => void work() }), (phases) => phases.response?.(exchange, held)],
  ["responseHeaders", (work) => ({ responseHeaders: work }), (phases) => phases.responseHeaders?.(exchange)],
  [
    "responseBody",
    (work) => ({
      responseBody() {
        work();
        return null;
      },
    }),
    (phases) => phases.responseBody?.(exchange),
  ],
  ["log", (work) => ({ log: work }), (phases) => phases.log?.(exchange)],
  [
    "endpoint",
    (work) => ({ endpoint: () => void work() }),
    (phases) => phases.endpoint?.({ method: "GET", path: [], query: {} }),
  ],
  ["start", (work) => ({ start: work }), (phases) => phases.start?.()],
  ["stop", (work) => ({ stop: work }), (phases) => phases.stop?.()],
];

describe("plugin code", () => {
  for (const [phase, phasesWith, call] of rows)
    test(`in the phase ${phase} runs with the plugin's number; one call in 64 is measured, and any call that blocks is warned about`, () => {
      let isBlocking = false;
      const { phases, observed, warnings } = meter(() =>
        phasesWith(() => {
          assert.equal(runningNow(), 1);
          if (isBlocking) block();
        }),
      );
      const before = observed.length;
      for (let count = 0; count < 65; count++) call(phases);
      assert.equal(runningNow(), 0);
      assert.deepEqual(observed.slice(before), [`cors ${phase}`, `cors ${phase}`]);
      isBlocking = true;
      call(phases);
      assert.deepEqual(warnings, [warningOf(phase)]);
    });

  test("that throws leaves no number of the plugin behind", () => {
    const { phases } = meter(() => ({
      access() {
        throw new Error("broken");
      },
    }));
    assert.throws(() => phases.access?.(exchange), /broken/);
    assert.equal(runningNow(), 0);
  });

  const filters: readonly (readonly [method: string, filter: (work: () => Buffer) => BodyFilter])[] = [
    ["piece", (work) => ({ piece: work })],
    ["end", (work) => ({ piece: (piece) => piece, end: work })],
    ["whole", (work) => ({ limit: 1, longer: "refused", whole: work })],
    ["observe", (work) => ({ observe: () => void work(), complete() {} })],
    ["complete", (work) => ({ observe() {}, complete: () => void work() })],
  ];
  for (const [method, filterOf] of filters)
    test(`in the method ${method} of a body filter runs with the plugin's number, and a call that blocks is warned about`, () => {
      let isBlocking = false;
      const { phases, warnings } = meter(() => ({
        responseBody: () =>
          filterOf(() => {
            assert.equal(runningNow(), 1);
            if (isBlocking) block();
            return bytes;
          }),
      }));
      const call = () => {
        const filter = phases.responseBody?.(exchange) as unknown as Record<string, (given?: unknown) => unknown>;
        return filter[method]?.(bytes);
      };
      call();
      isBlocking = true;
      call();
      assert.equal(runningNow(), 0);
      assert.deepEqual(warnings, [warningOf("responseBody")]);
    });

  const after: readonly (readonly [
    what: string,
    phases: (work: () => void, context: PluginContext) => PluginPhases,
  ])[] = [
    [
      "a timer",
      (work, { timers }) => ({
        start: () => new Promise((resolve) => void timers.after(1, () => resolve(work()))),
      }),
    ],
    [
      "a promise that is already settled",
      (work) => ({
        async start() {
          await null;
          await null;
          work();
        },
      }),
    ],
    [
      "a request of the HTTP client",
      (work, { network }) => ({
        start: () => network.http.send({ method: "GET", url: "ftp://x", timeout: 1 }).catch(work) as Promise<void>,
      }),
    ],
  ];
  for (const [what, phasesOf] of after)
    test(`that follows ${what} has the plugin's number, and is warned about if it blocks the event loop after an await`, async () => {
      const seen: number[] = [];
      const { phases, warnings, end } = meter((context) =>
        phasesOf(() => {
          seen.push(runningNow());
          block();
        }, context),
      );
      const keepAlive = setInterval(() => {}, 1000);
      await phases.start?.();
      clearInterval(keepAlive);
      await nextTurn();
      assert.deepEqual([seen, runningNow()], [[1], 0]);
      // The first call of a timer is measured by the clock, but `block` only moves the ticks.
      if (what !== "a timer") assert.deepEqual(warnings, [warningOf("after an await")]);
      end();
    });

  test("of a middleware has the plugin's number, also after it has awaited next", async () => {
    // Loads the classes of the Fetch API, which takes long at first.
    assert.ok(new Request("http://x") && new Response());
    const seen: number[] = [];
    const { phases, warnings } = meter(() =>
      middleware(async (_request, next) => {
        seen.push(runningNow());
        const response = await next();
        seen.push(runningNow());
        block();
        return response;
      }),
    );
    assert.equal(await phases.access?.(exchange), undefined);
    await nextTurn();
    assert.equal(runningNow(), 0);
    await phases.response?.(exchange, held);
    await nextTurn();
    assert.deepEqual([seen, runningNow()], [[1, 1], 0]);
    assert.deepEqual(warnings, [warningOf("after an await")]);
  });

  test("in a phase that a callback of nextTick calls has the plugin's number after an await, too", async () => {
    const seen: number[] = [];
    const { phases } = meter(() => ({
      async start() {
        await null;
        seen.push(runningNow());
      },
    }));
    await new Promise((resolve) => process.nextTick(() => resolve(phases.start?.())));
    await nextTurn();
    assert.deepEqual([seen, runningNow()], [[1], 0]);
  });

  test("that follows an await of a pending promise that no service created, such as that of a timer, is not attributed to the plugin", async () => {
    const seen: number[] = [];
    const { phases } = meter(() => ({
      async start() {
        await nextTurn();
        seen.push(runningNow());
      },
    }));
    await phases.start?.();
    assert.deepEqual(seen, [0]);
  });

  test("that is called by code of another plugin restores the number of that plugin", () => {
    const inner = meter(() => ({ log() {} }));
    const outer = meter(() => ({
      access() {
        words.running[0] = 7;
        inner.phases.log?.(exchange);
        assert.equal(runningNow(), 7);
      },
    }));
    outer.phases.access?.(exchange);
    assert.equal(runningNow(), 0);
  });

  test("is not created if `phases` is asynchronous, because the phases in the promise would never run", () => {
    assert.throws(() => meter(() => Promise.resolve({}) as PluginPhases), /returned a promise/);
  });

  test("is logged if the method of an observer rejects, because nothing awaits it", async () => {
    const err = new Error("broken");
    const { phases, warnings } = meter(() => ({
      responseBody: () => ({ observe() {}, complete: () => Promise.reject(err) }),
    }));
    const filter = phases.responseBody?.(exchange);
    assert.ok(filter && "observe" in filter);
    filter.complete();
    await nextTurn();
    assert.deepEqual(warnings, [{ plugin: "cors", phase: "responseBody", err }]);
  });
});
