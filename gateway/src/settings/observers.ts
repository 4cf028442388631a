/** Start-up settings of the access log, the list of recent requests and tracing. */
import { defineSettings, SettingsError, type SettingsOf } from "@sluice/model/serving";

export const observerSettings = defineSettings({
  accessLog: {
    variable: "SLUICE_PROXY_ACCESS_LOG",
    kind: "text",
    default: "off",
    description:
      "Destination of the access log, one line of JSON for each request: `off`, `stdout`, or the path of a file. " +
      "The node appends to the file, and reopens it on SIGHUP.",
  },
  accessLogQuery: {
    variable: "SLUICE_PROXY_ACCESS_LOG_QUERY",
    kind: "flag",
    default: false,
    description:
      "Whether the access log includes query strings. The log never contains the values of parameters from which " +
      "a plugin reads keys or tokens.",
  },
  slowRequest: {
    variable: "SLUICE_PROXY_SLOW_REQUEST",
    kind: "duration",
    default: 1000,
    description:
      "A request is slow if the first byte of its response takes longer than this. `GET /requests` of the admin API " +
      "lists the last requests that were slow, refused or failed.",
  },
  tracing: {
    variable: "SLUICE_TRACING",
    kind: "choice",
    words: ["off", "otlp"],
    default: "off",
    description:
      "`otlp` sends traces to a collector. The trace of a client's `traceparent` header is continued; without the " +
      "header, a new trace begins. With `off` the header is forwarded unchanged.",
  },
  tracingSampling: {
    variable: "SLUICE_TRACING_SAMPLING",
    kind: "share",
    default: 1,
    description:
      "Fraction of requests without `traceparent` that are traced; requests with the header follow its sampling " +
      "flag. A trace costs several times as much CPU as the rest of a request, so lower this value under high " +
      "load.",
  },
  otlpEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    kind: "text",
    default: null,
    description:
      "URL of the collector, such as http://127.0.0.1:4318. Traces are sent to `/v1/traces` below it (OTLP over " +
      "HTTP, JSON). Other variables of OpenTelemetry also apply, such as OTEL_SERVICE_NAME and " +
      "OTEL_EXPORTER_OTLP_HEADERS.",
  },
  otlpTracesEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    kind: "text",
    default: null,
    description: "Complete URL for traces, if it differs from OTEL_EXPORTER_OTLP_ENDPOINT plus `/v1/traces`.",
  },
});

export type ObserverSettings = SettingsOf<typeof observerSettings>;

/** The file of the access log; null: standard output. Undefined when the access log is off. */
export function accessLogFile({ accessLog }: ObserverSettings): string | null | undefined {
  if (accessLog === "off") return undefined;
  return accessLog === "stdout" ? null : accessLog;
}

/** The URL that spans are sent to; null when tracing is off. Throws when tracing is on without a valid endpoint. */
export function tracesUrl({ tracing, otlpEndpoint, otlpTracesEndpoint }: ObserverSettings): string | null {
  if (tracing === "off") return null;
  const { otlpEndpoint: general, otlpTracesEndpoint: special, tracing: setting } = observerSettings;
  const url = otlpTracesEndpoint ?? (otlpEndpoint && `${otlpEndpoint.replace(/\/+$/, "")}/v1/traces`);
  if (!url) throw new SettingsError(`${setting.variable}=otlp needs ${general.variable}: the URL of a collector`);
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw new SettingsError(`${general.variable} and ${special.variable} must be http or https URLs`);
}
