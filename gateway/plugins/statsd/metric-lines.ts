/** The metrics of an exchange, or of a connection that is not HTTP, as lines for a StatsD server. */
import { hostname } from "node:os";
import {
  type EndedConnection,
  type Exchange,
  latenciesOf,
  type StatType,
  statsdSampleText,
  statsdText,
  workspace,
} from "@sluice/plugin-sdk";
import type { StatsdConfig } from "./schema.ts";

type Metric = StatsdConfig["metrics"][number];

type Measured = Exchange | EndedConnection;

interface Line {
  readonly name: string;
  readonly value: number | string;
  readonly type: StatType;
  readonly sampleRate: number | null;
}

/** As in Kong, `_` replaces dots, because dots separate the parts of a metric's name. */
const undotted = (name: string): string => statsdText(name).replaceAll(".", "_");

const host = undotted(hostname());

/** The configured member of the consumer; null: there is no consumer, or it lacks the member. */
function consumerOf({ consumer }: Measured, metric: Metric, config: StatsdConfig): string | null {
  if (consumer === null) return null;
  const by = metric.consumer_identifier ?? config.consumer_identifier_default;
  const value = by === "consumer_id" ? consumer.id : consumer[by];
  return value === null ? null : statsdText(value);
}

function serviceOf({ service }: Measured, metric: Metric, config: StatsdConfig): string | null {
  if (service === null) return null;
  switch (metric.service_identifier ?? config.service_identifier_default) {
    case "service_id":
      return service.id;
    case "service_name":
      return service.name;
    case "service_host":
      return service.host;
    case "service_name_or_host":
      return service.name ?? service.host;
  }
}

const workspaceOf = (metric: Metric, config: StatsdConfig): string =>
  (metric.workspace_identifier ?? config.workspace_identifier_default) === "workspace_id"
    ? workspace.id
    : workspace.name;

/** The line of a metric; null: it is about users or statuses or is never sent, or the exchange has no value for it. */
function measurementOf(measured: Measured, { name, stat_type: type, sample_rate: sampleRate }: Metric): Line | null {
  const { request, kong, proxy } = latenciesOf(measured.timings);
  const measurements: Readonly<Partial<Record<Metric["name"], readonly [name: string, value: number]>>> = {
    request_count: ["request.count", 1],
    request_size: ["request.size", measured.bytesIn],
    response_size: ["response.size", measured.bytesOut],
    latency: ["latency", request],
    kong_latency: ["kong_latency", kong],
    upstream_latency: ["upstream_latency", proxy],
  };
  const [sentName, value = -1] = measurements[name] ?? [];
  return sentName === undefined || value < 0 ? null : { name: sentName, value, type, sampleRate };
}

/** The line of a metric without tags; null: the metric is never sent, or the exchange has no value for it. */
function untaggedLine(measured: Measured, metric: Metric, config: StatsdConfig): Line | null {
  const { status, route, service } = measured;
  const scope =
    service === null ? "global.unmatched" : `service.${undotted(serviceOf(measured, metric, config) ?? "unnamed")}`;
  const count = (name: string): Line => ({ name, value: 1, type: "counter", sampleRate: metric.sample_rate });
  const consumer = consumerOf(measured, metric, config);
  switch (metric.name) {
    case "status_count":
      return count(`${scope}.status.${status}`);
    case "status_count_per_workspace":
      return count(`${scope}.workspace.${workspaceOf(metric, config)}.status.${status}`);
    case "unique_users":
      return consumer === null
        ? null
        : { name: `${scope}.user.uniques`, value: consumer, type: "set", sampleRate: null };
    case "request_per_user":
      return consumer === null ? null : count(`${scope}.user.${consumer}.request.count`);
    case "status_count_per_user":
      return consumer === null ? null : count(`${scope}.user.${consumer}.status.${status}`);
    case "status_count_per_user_per_route":
      return consumer === null ? null : count(`route.${route.id}.user.${consumer}.status.${status}`);
    default: {
      const line = measurementOf(measured, metric);
      return line && { ...line, name: `${scope}.${line.name}` };
    }
  }
}

/** Names and values of tags. As in Kong, there are none if the service is absent or lacks the configured member. */
function tagsOf(measured: Measured, metric: Metric, config: StatsdConfig): readonly (readonly [string, string])[] {
  const service = serviceOf(measured, metric, config);
  if (service === null) return [];
  const { route, status } = measured;
  const consumer = consumerOf(measured, metric, config);
  return [
    ["service", statsdText(service)],
    ["route", statsdText(route.name ?? route.id)],
    ["workspace", workspaceOf(metric, config)],
    ...(consumer === null ? [] : [["consumer", consumer] as const]),
    ["node", host],
    ["status", String(status)],
  ];
}

/**
 * The line of a metric with tags; null if the exchange has no value for it, or if the metric is never sent with tags
 * (metrics about users and statuses, and shdict_usage).
 */
function taggedText(measured: Measured, metric: Metric, config: StatsdConfig): string | null {
  const line = measurementOf(measured, metric);
  if (line === null) return null;
  const tags = tagsOf(measured, metric, config);
  const name = `${config.prefix}.${line.name}`;
  const stat = statsdSampleText(line);
  if (tags.length === 0) return name + stat;
  const text = (separator: string) => tags.map((tag) => tag.join(separator)).join(",");
  switch (config.tag_style) {
    case "dogstatsd":
      return `${name}${stat}|#${text(":")}`;
    case "influxdb":
      return `${name},${text("=")}${stat}`;
    case "librato":
      return `${name}#${text("=")}${stat}`;
    case "signalfx":
      return `${name}[${text("=")}]${stat}`;
    case null:
      return name + stat;
  }
}

export function metricLines(measured: Measured, config: StatsdConfig): readonly string[] {
  if (config.tag_style !== null) return config.metrics.flatMap((metric) => taggedText(measured, metric, config) ?? []);
  const prefix = config.hostname_in_prefix ? `${config.prefix}.node.${host}` : config.prefix;
  return config.metrics.flatMap((metric) => {
    const line = untaggedLine(measured, metric, config);
    return line === null ? [] : [`${prefix}.${line.name}${statsdSampleText(line)}`];
  });
}
