/**
 * Reads a declarative file in a separate process: parsing and checking thousands of entities takes seconds, during
 * which the node must serve requests. The process ends soon after the last text, which frees its memory. In a thread,
 * V8 and malloc would keep the memory (for 10,000 routes 90 MB for a while, and 15 MB permanently).
 */
import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import type { Checked } from "@sluice/model";
import { loadedSchemas } from "@sluice/model/serving";
import type { EditReading, EditRequest, FileReading, ReadRequest } from "./read-file.ts";
import { ResultAssembler, type ResultChunk } from "./result-chunks.ts";

/** Milliseconds for which an idle process waits for another text: a file is often saved several times in a row. */
const IDLE_TIMEOUT = 5000;

const ENDED = "the process that reads the file has ended";

/** Flags of a process that reads only edited items: V8's semi-spaces become resident memory even if little is read. */
const SMALL_HEAP_FLAGS = ["--min-semi-space-size=1", "--max-semi-space-size=1"];

type Request = { readonly read: ReadRequest } | { readonly edit: EditRequest };

/** The result of a call, assembled from one or more messages. */
type Answer = Checked<FileReading> | { readonly edit: EditReading | null };

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Calls must not overlap. `read` and `edit` reject when the process fails or is ended. */
export function createReaderProcess() {
  let reader: ChildProcess | undefined;
  let readerFor: "read" | "edit" = "read";
  let waiting: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;

  function start(flags: readonly string[]): ChildProcess {
    const main = new URL(`./reader-process-main${extname(import.meta.url)}`, import.meta.url);
    const started = fork(main, [...loadedSchemas()], {
      execArgv: [...process.execArgv, ...flags],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const fail = (error: Error) => {
      if (reader !== started) return;
      reader = undefined;
      waiting?.reject(error);
    };
    const parts = new ResultAssembler();
    started.on("message", (received) => {
      const message = received as unknown as ResultChunk | { readonly edit: EditReading | null };
      const answer = "edit" in message ? message : parts.add(message);
      if (answer !== null) waiting?.resolve(answer);
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

  async function call(request: Request, linger: number): Promise<Answer> {
    clearTimeout(timer);
    const kind = "edit" in request ? "edit" : "read";
    if (reader && readerFor !== kind) await end();
    reader ??= start(kind === "edit" ? SMALL_HEAP_FLAGS : []);
    readerFor = kind;
    const { channel } = reader;
    reader.ref();
    channel?.ref();
    reader.send(request);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        waiting = { resolve, reject };
      });
    } finally {
      waiting = undefined;
      reader?.unref();
      channel?.unref();
      timer = setTimeout(end, linger).unref();
    }
  }

  return {
    async read(request: ReadRequest): Promise<Checked<FileReading>> {
      // After the first read the process ends at once, because an edit rarely follows soon.
      return (await call({ read: request }, request.before === null ? 0 : IDLE_TIMEOUT)) as Checked<FileReading>;
    },
    /** Null when the whole text must be read. */
    async edit(request: EditRequest): Promise<EditReading | null> {
      return ((await call({ edit: request }, IDLE_TIMEOUT)) as { readonly edit: EditReading | null }).edit;
    },
    /** Ends the process and aborts a pending call. */
    end,
  };
}
