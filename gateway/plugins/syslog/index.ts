import { DatagramQueue, definePlugin, type Exchange, severityOf, syslogMessage } from "@sluice/plugin-sdk";
import { facilities, syslogFacts } from "./schema.ts";

export const syslog = definePlugin({
  ...syslogFacts,
  phases(config, context) {
    const { host, port } = config;
    if (host === null) throw new Error("the config has no host");
    const queue = new DatagramQueue({ host, port }, context);
    const facility = facilities[config.facility];
    const add = (ended: Pick<Exchange, "status" | "logRecord">) => {
      const severity = severityOf(ended.status, config);
      if (severity === null) return;
      const message = ended.logRecord();
      queue.add(syslogMessage({ facility, severity, time: context.now(), structuredData: "-", message }));
    };
    return {
      log: add,
      connectionLog: add,
      stop: () => queue.close(),
    };
  },
});
