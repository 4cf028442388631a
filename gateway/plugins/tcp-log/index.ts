import { DeliveryQueue, definePlugin, fixedQueueSettings, StreamSender } from "@sluice/plugin-sdk";
import { tcpLogFacts } from "./schema.ts";

export const tcpLog = definePlugin({
  ...tcpLogFacts,
  phases({ host, port, tls, tls_sni: serverName, timeout, keepalive: keepAlive }, context) {
    const sender = new StreamSender({
      open: () => context.network.connect({ host, port, ...(tls && { tls: { serverName } }) }),
      isSecure: tls,
      timeout,
      keepAlive,
    });
    const queue = new DeliveryQueue({
      settings: fixedQueueSettings,
      context,
      deliver: (batch) => sender.send(batch.join("\n", "", "\n")),
    });
    return {
      log: (exchange) => queue.add(exchange.logRecordBytes()),
      connectionLog: (connection) => queue.add(connection.logRecord()),
      async stop() {
        await queue.close();
        sender.close();
      },
    };
  },
});
