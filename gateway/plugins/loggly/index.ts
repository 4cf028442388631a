import { DatagramQueue, definePlugin, type Exchange, severityOf, syslogMessage } from "@sluice/plugin-sdk";
import { logglyFacts } from "./schema.ts";

/** User-level messages (RFC 5424 section 6.2.1). */
const USER_FACILITY = 1;

export const loggly = definePlugin({
  ...logglyFacts,
  phases(config, context) {
    const { host, port, key, tags } = config;
    const queue = new DatagramQueue({ host, port }, context);
    const structuredData = `[${key}@41058 ${tags.map((tag) => `tag="${tag}"`).join(" ")}]`;
    const add = (ended: Pick<Exchange, "status" | "logRecord">) => {
      const severity = severityOf(ended.status, config);
      if (severity === null) return;
      const message = ended.logRecord();
      queue.add(syslogMessage({ facility: USER_FACILITY, severity, time: context.now(), structuredData, message }));
    };
    return {
      log: add,
      connectionLog: add,
      stop: () => queue.close(),
    };
  },
});
