import { DatagramQueue, definePlugin, severityOf, syslogMessage } from "@sluice/plugin-sdk";
import { facilities, syslogFacts } from "./schema.ts";

export const syslog = definePlugin({
  ...syslogFacts,
  phases(config, context) {
    const { host, port } = config;
    if (host === null) throw new Error("the config has no host");
    const queue = new DatagramQueue({ host, port }, context);
    const facility = facilities[config.facility];
    return {
      log(exchange) {
        const severity = severityOf(exchange.status, config);
        if (severity === null) return;
        const message = exchange.logRecord();
        queue.add(syslogMessage({ facility, severity, time: context.now(), structuredData: "-", message }));
      },
      stop: () => queue.close(),
    };
  },
});
