import {
  DatagramQueue,
  definePlugin,
  type EndedConnection,
  type Exchange,
  type Latencies,
  latenciesOf,
  statsdSampleText,
  statsdText,
} from "@sluice/plugin-sdk";
import { type DatadogConfig, datadogFacts } from "./schema.ts";

type Metric = DatadogConfig["metrics"][number];

type Measured = Exchange | EndedConnection;

/** The names under which metrics are sent, if they differ from those in the config. */
const sentNames: Readonly<Partial<Record<Metric["name"], string>>> = {
  request_count: "request.count",
  request_size: "request.size",
  response_size: "response.size",
};

/** The value of a metric; null: the exchange or connection has none. */
function metricValue(name: Metric["name"], measured: Measured, latencies: Latencies): number | null {
  switch (name) {
    case "request_count":
      return 1;
    case "request_size":
      return measured.bytesIn;
    case "response_size":
      return measured.bytesOut;
    case "latency":
      return latencies.request;
    case "kong_latency":
      return latencies.kong;
    case "upstream_latency":
      return latencies.proxy < 0 ? null : latencies.proxy;
  }
}

/** The tags, joined by commas. As in Kong, `_` replaces dots of a service's name or host and dashes of consumer ids. */
function tagsOf({ service, status, consumer }: Measured, metric: Metric, config: DatadogConfig): string {
  const { consumer_identifier: by, tags } = metric;
  const name = service === null ? "" : (service.name ?? service.host).replaceAll(".", "_");
  const known = consumer === null || by === null ? null : by === "consumer_id" ? consumer.id : consumer[by];
  return [
    `${config.service_name_tag}:${statsdText(name)}`,
    `${config.status_tag}:${status}`,
    ...(known === null
      ? []
      : [`${config.consumer_tag}:${statsdText(by === "consumer_id" ? known.replaceAll("-", "_") : known)}`]),
    ...(tags ?? []),
  ].join(",");
}

function linesOf(measured: Measured, config: DatadogConfig): string {
  const latencies = latenciesOf(measured.timings);
  const lines = config.metrics.flatMap((metric) => {
    const value = metricValue(metric.name, measured, latencies);
    if (value === null) return [];
    const stat = statsdSampleText({ value, type: metric.stat_type, sampleRate: metric.sample_rate });
    return [`${config.prefix}.${sentNames[metric.name] ?? metric.name}${stat}|#${tagsOf(measured, metric, config)}`];
  });
  return lines.join("\n");
}

export const datadog = definePlugin({
  ...datadogFacts,
  phases(config, context) {
    const { host, port, queue: settings } = config;
    /** The datagrams of a batch: one for each metric, as in Kong. */
    const datagramsOf = (texts: readonly string[]) => texts.flatMap((lines) => lines.split("\n"));
    const queue = new DatagramQueue({ host, port }, context, { settings, datagramsOf });
    function send(measured: Measured): void {
      const lines = linesOf(measured, config);
      if (lines !== "") queue.add(lines);
    }
    return {
      log: send,
      connectionLog: send,
      stop: () => queue.close(),
    };
  },
});
