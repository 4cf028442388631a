/**
 * Reads a declarative file in a process of its own: parsing and checking thousands of entities takes seconds, in which
 * the node has requests to serve. The process ends soon after, and what it took of memory is free again: of a thread,
 * V8 and malloc would keep it for the node (of 10,000 routes 90 MB for a while, and 15 MB for good).
 */
import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import type { Checked } from "@sluice/model";
import { type Message, Parts } from "./parts.ts";
import type { Reading, ReadRequest } from "./read-file.ts";

export interface AsideReader {
  /** One at a time. Rejects when the process fails, or when it was ended. */
  read(request: ReadRequest): Promise<Checked<Reading>>;
  /** Ends what is under way. */
  end(): Promise<void>;
}

/** Milliseconds that a process waits for another text: who edits a file, saves it more than once. */
const LINGER = 5000;

const ENDED = "the process that reads the file has ended";

interface Waiting {
  resolve(read: Checked<Reading>): void;
  reject(error: Error): void;
}

export function createAsideReader(): AsideReader {
  let reader: ChildProcess | undefined;
  let waiting: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;

  function start(): ChildProcess {
    const started = fork(new URL(`./read-file-process${extname(import.meta.url)}`, import.meta.url), {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const fail = (error: Error) => {
      if (reader !== started) return;
      reader = undefined;
      waiting?.reject(error);
    };
    const parts = new Parts();
    started.on("message", (message) => {
      const read = parts.take(message as unknown as Message);
      if (read !== null) waiting?.resolve(read);
    });
    started.on("error", fail);
    started.once("exit", () => fail(new Error(ENDED)));
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(timer);
    const ending = reader;
    if (ending?.pid === undefined) return;
    reader = undefined;
    waiting?.reject(new Error(ENDED));
    const exited = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill();
    await exited;
  }

  return {
    async read(request) {
      clearTimeout(timer);
      reader ??= start();
      const { channel } = reader;
      reader.ref();
      channel?.ref();
      reader.send(request);
      try {
        return await new Promise((resolve, reject) => {
          waiting = { resolve, reject };
        });
      } finally {
        waiting = undefined;
        reader?.unref();
        channel?.unref();
        // Nobody edits what is read for the first time.
        timer = setTimeout(end, request.before === null ? 0 : LINGER).unref();
      }
    },
    end,
  };
}
