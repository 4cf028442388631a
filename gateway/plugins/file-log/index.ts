import { type FileHandle, open } from "node:fs/promises";
import { DeliveryQueue, definePlugin, fixedQueueSettings } from "@sluice/plugin-sdk";
import { fileLogFacts } from "./schema.ts";

/** Kong's mode of new files: readable for all, writable for the owner. */
const MODE = 0o644;

export const fileLog = definePlugin({
  ...fileLogFacts,
  phases({ path, reopen }, context) {
    let file: FileHandle | null = null;

    async function close(): Promise<void> {
      const closing = file;
      file = null;
      await closing?.close();
    }

    const queue = new DeliveryQueue({
      settings: fixedQueueSettings,
      context,
      async deliver(batch) {
        file ??= await open(path, "a", MODE);
        try {
          await file.appendFile(batch.join("\n", "", "\n"));
        } catch (error) {
          // The next write opens the file again.
          await close().catch(() => undefined);
          throw error;
        }
        if (reopen) await close();
      },
    });
    return {
      log: (exchange) => queue.add(exchange.logRecordBytes()),
      connectionLog: (connection) => queue.add(connection.logRecord()),
      async stop() {
        await queue.close();
        await close();
      },
    };
  },
});
