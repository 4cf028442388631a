import { DeliveryQueue, definePlugin, headerValue } from "@sluice/plugin-sdk";
import { type HttpLogConfig, httpLogFacts } from "./schema.ts";

const FIRST_FAILURE = 300;

interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Decodes a user name or password of a URL; text that is not percent-encoded correctly is returned unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The URL without user information, and the headers to send. Configured headers do not replace the plugin's own. */
function endpointOf({ http_endpoint: text, headers, content_type: contentType }: HttpLogConfig): Endpoint {
  const url = new URL(text);
  const user = `${decoded(url.username)}:${decoded(url.password)}`;
  const configured = Object.entries(headers ?? {}).map(([name, value]) => [name, headerValue(value)]);
  url.username = "";
  url.password = "";
  return {
    url: url.href,
    headers: Object.freeze({
      ...Object.fromEntries(configured),
      ...(user !== ":" && { Authorization: `Basic ${Buffer.from(user).toString("base64")}` }),
      "Content-Type": contentType,
    }),
  };
}

export const httpLog = definePlugin({
  ...httpLogFacts,
  phases(config, context) {
    const { method, timeout, keepalive: keepAlive, queue: settings } = config;
    const endpoint = endpointOf(config);
    const queue = new DeliveryQueue({
      settings,
      context,
      async deliver(batch) {
        const body = settings.max_batch_size === 1 ? batch.join("") : batch.join(",", "[", "]");
        const { status } = await context.network.http.send({ ...endpoint, method, body, timeout, keepAlive });
        if (status >= FIRST_FAILURE) throw new Error(`the log server answered with the status ${status}`);
      },
    });
    return {
      log: (exchange) => queue.add(exchange.logRecordBytes()),
      connectionLog: (connection) => queue.add(connection.logRecord()),
      stop: () => queue.close(),
    };
  },
});
