import assert from "node:assert/strict";
import { test } from "node:test";
import type { PluginConfigs, PluginName } from "@sluice/model";
import { fakeContext, fakeExchange, fakeService, pluginInstance } from "../../../../test/plugins/fake-exchange.ts";
import { filled } from "../../../../test/plugins/filled-configs.ts";
import type { PluginContext } from "../plugin.ts";

const metrics = (["request_count", "request_size"] as const).map((name) => ({
  name,
  stat_type: "counter",
  sample_rate: 1,
}));

const instanceOf = <Name extends PluginName>(plugin: Name, config: object, context: PluginContext) =>
  pluginInstance(plugin, filled(plugin, config) as PluginConfigs[Name], context);

for (const [plugin, config, datagrams] of [
  ["statsd", { udp_packet_size: 0 }, ["kong.service.a.request.count:1|c", "kong.service.a.request.size:7|c"]],
  ["datadog", {}, ["kong.request.count:1|c|#name:a,status:200", "kong.request.size:7|c|#name:a,status:200"]],
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
    const queue = { initial_retry_delay: 0.001, max_coalescing_delay: 0 };
    const phases = instanceOf(plugin, { ...config, metrics, queue }, context);
    phases.log?.(fakeExchange({ service: fakeService({ name: "a" }), bytesIn: 7 }));
    await sent.promise;
    await phases.stop?.();
    context.end();
    assert.deepEqual(attempts, [datagrams[0], datagrams[1], datagrams[1]]);
  });
