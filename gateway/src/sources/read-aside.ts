/**
 * Reads a declarative file in a thread of its own: parsing and checking thousands of entities takes seconds, in which
 * this one has requests to serve. The thread ends soon after, and what it took of memory is free again.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Checked } from "@sluice/model";
import type { Reading, ReadRequest } from "./read-file.ts";

export interface AsideReader {
  /** One at a time. Rejects when the thread fails, or when it was ended. */
  read(request: ReadRequest): Promise<Checked<Reading>>;
  /** Ends what is under way. */
  end(): Promise<void>;
}

/** Milliseconds that a thread waits for another text: who edits a file, saves it more than once. */
const LINGER = 5000;

interface Waiting {
  resolve(read: Checked<Reading>): void;
  reject(error: Error): void;
}

export function createAsideReader(): AsideReader {
  let thread: Worker | undefined;
  let waiting: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;

  function start(): Worker {
    const started = new Worker(new URL(`./read-file-worker${extname(import.meta.url)}`, import.meta.url));
    started.on("message", (read: Checked<Reading>) => waiting?.resolve(read));
    started.once("error", (error: Error) => waiting?.reject(error));
    started.once("exit", () => {
      if (thread !== started) return;
      thread = undefined;
      waiting?.reject(new Error("the thread that reads the file has ended"));
    });
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(timer);
    await thread?.terminate();
  }

  return {
    async read(request) {
      clearTimeout(timer);
      const reader = thread ?? start();
      thread = reader;
      reader.ref();
      try {
        return await new Promise((resolve, reject) => {
          waiting = { resolve, reject };
          reader.postMessage(request);
        });
      } finally {
        waiting = undefined;
        reader.unref();
        timer = setTimeout(end, LINGER).unref();
      }
    },
    end,
  };
}
