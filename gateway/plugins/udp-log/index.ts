import { DatagramQueue, definePlugin } from "@sluice/plugin-sdk";
import { udpLogFacts } from "./schema.ts";

export const udpLog = definePlugin({
  ...udpLogFacts,
  phases({ host, port }, context) {
    const queue = new DatagramQueue({ host, port }, context);
    return {
      log: (exchange) => queue.add(exchange.logRecordBytes()),
      connectionLog: (connection) => queue.add(connection.logRecord()),
      stop: () => queue.close(),
    };
  },
});
