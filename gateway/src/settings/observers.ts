/** Start-up settings of the access log and of tracing. */
import { defineSettings, type SettingsOf } from "@sluice/model/serving";
import { SettingsError } from "./error.ts";

export const observerSettings = defineSettings({
  accessLog: {
    variable: "SLUICE_PROXY_ACCESS_LOG",
    kind: "text",
    default: "off",
    description:
      "Where each request is told of in a line of JSON: `off`, `stdout`, or the path of a file, which is appended to and " +
      "opened anew at SIGHUP.",
  },
  accessLogQuery: {
    variable: "SLUICE_PROXY_ACCESS_LOG_QUERY",
    kind: "flag",
    default: false,
    description:
      "Whether the access log tells queries too. Values of parameters that a key-auth plugin reads keys from are never in it.",
  },
  tracing: {
    variable: "SLUICE_TRACING",
    kind: "choice",
    words: ["off", "otlp"],
    default: "off",
    description:
      "`otlp` sends traces to a collector: `traceparent` of clients is followed, and made where there is none. With `off` " +
      "it passes as it came.",
  },
  tracingSampling: {
    variable: "SLUICE_TRACING_SAMPLING",
    kind: "share",
    default: 1,
    description:
      "Which share of the requests that bring no `traceparent` is traced; the others follow theirs. A trace costs several " +
      "times what the rest of a request does: lower it where there are many.",
  },
  otlpEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    kind: "text",
    default: null,
    description:
      "URL of the collector, such as http://127.0.0.1:4318: traces are posted to `/v1/traces` below it (OTLP over HTTP, " +
      "JSON). Other variables of OpenTelemetry's apply too, such as OTEL_SERVICE_NAME and OTEL_EXPORTER_OTLP_HEADERS.",
  },
  otlpTracesEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    kind: "text",
    default: null,
    description: "The whole URL for traces, where it is another.",
  },
});

export type ObserverSettings = SettingsOf<typeof observerSettings>;

/** The file of the access log; null: standard output. Undefined when the access log is off. */
export function accessLogFile({ accessLog }: ObserverSettings): string | null | undefined {
  if (accessLog === "off") return undefined;
  return accessLog === "stdout" ? null : accessLog;
}

/** The URL that spans are sent to; null when tracing is off. Throws when tracing is on without an endpoint. */
export function tracesUrl({ tracing, otlpEndpoint, otlpTracesEndpoint }: ObserverSettings): string | null {
  if (tracing === "off") return null;
  const { otlpEndpoint: general, otlpTracesEndpoint: special, tracing: setting } = observerSettings;
  const url = otlpTracesEndpoint ?? (otlpEndpoint && `${otlpEndpoint.replace(/\/+$/, "")}/v1/traces`);
  if (!url) throw new SettingsError(`${setting.variable}=otlp needs ${general.variable}: the URL of a collector`);
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw new SettingsError(`${general.variable} and ${special.variable} must be http or https URLs`);
}
