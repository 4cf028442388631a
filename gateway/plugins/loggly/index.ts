import { hostname } from "node:os";
import { DatagramQueue, definePlugin } from "@sluice/plugin-sdk";
import { type LogglyConfig, logglyFacts, severities } from "./schema.ts";

/** The facility "user-level messages" (1), multiplied by 8 as in a priority (RFC 5424 section 6.2.1). */
const USER_FACILITY = 8;

export const loggly = definePlugin({
  ...logglyFacts,
  phases(config, context) {
    const { host, port, key, tags } = config;
    const queue = new DatagramQueue({ host, port }, context);
    const data = `[${key}@41058 ${tags.map((tag) => `tag="${tag}"`).join(" ")}]`;
    const most = severities.indexOf(config.log_level);
    return {
      log(exchange) {
        const severity = severities.indexOf(severityOf(exchange.status, config));
        if (severity > most) return;
        const time = new Date(context.now()).toISOString().replace(/\.\d+/, "");
        const head = `<${USER_FACILITY + severity}>1 ${time} ${hostname()} kong - - ${data}`;
        queue.add(`${head} ${exchange.logRecord()}`);
      },
      stop: () => queue.close(),
    };
  },
});

function severityOf(status: number, config: LogglyConfig) {
  if (status >= 500) return config.server_errors_severity;
  return status >= 400 ? config.client_errors_severity : config.successful_severity;
}
