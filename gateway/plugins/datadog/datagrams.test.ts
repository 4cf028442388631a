/** What statsd and datadog send again after a failure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeContext, fakeExchange, fakeService } from "../../../test/plugins/fake-exchange.ts";
import { filled } from "../../../test/plugins/filled-configs.ts";
import { statsd } from "../statsd/index.ts";
import { datadog } from "./index.ts";

const config = {
  metrics: ["request_count", "request_size"].map((name) => ({ name, stat_type: "counter", sample_rate: 1 })),
  queue: { initial_retry_delay: 0.001, max_coalescing_delay: 0 },
};
type Context = ReturnType<typeof fakeContext>;

for (const [plugin, start, datagrams] of [
  [
    "statsd",
    (context: Context) => statsd.phases(filled("statsd", { ...config, udp_packet_size: 0 }), context),
    ["kong.service.a.request.count:1|c", "kong.service.a.request.size:7|c"],
  ],
  [
    "datadog",
    (context: Context) => datadog.phases(filled("datadog", config), context),
    ["kong.request.count:1|c|#name:a,status:200", "kong.request.size:7|c|#name:a,status:200"],
  ],
] as const)
  test(`${plugin} does not send the datagrams of a batch again that were sent before another one failed`, async () => {
    const attempts: string[] = [];
    const sent = Promise.withResolvers<void>();
    const context = fakeContext({
      plugin,
      datagrams: () => ({
        async send(data) {
          attempts.push(data.toString());
          if (attempts.length === 2) throw new Error("the network is down");
          if (attempts.length === 3) sent.resolve();
        },
        close() {},
      }),
    });
    const phases = start(context);
    phases.log?.(fakeExchange({ service: fakeService({ name: "a" }), bytesIn: 7 }));
    await sent.promise;
    await phases.stop?.();
    context.end();
    assert.deepEqual(attempts, [datagrams[0], datagrams[1], datagrams[1]]);
  });
