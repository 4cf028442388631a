/** The thread that computes slow hashes of htpasswd files. It starts with the first password, and ends when idle. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { HashForm } from "./htpasswd.ts";

export interface HashCall {
  readonly id: number;
  readonly password: Uint8Array;
  readonly hash: string;
  readonly form: HashForm;
}

export type HashReply =
  | { readonly id: number; readonly isRight: boolean; readonly failure?: undefined }
  | { readonly id: number; readonly failure: string };

interface Waiting {
  resolve(isRight: boolean): void;
  reject(error: Error): void;
}

/** Milliseconds without a password after which the thread ends. */
const IDLE = 60_000;

class HashThread {
  readonly #waiting = new Map<number, Waiting>();
  readonly #worker: Worker;
  readonly #onEnd: () => void;
  #idle: NodeJS.Timeout | undefined;
  #last = 0;

  /** @param onEnd Called when the thread has ended, or will end and takes no more passwords. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#worker = new Worker(new URL(`./hash-thread-main${extname(import.meta.url)}`, import.meta.url));
    this.#worker.on("message", (reply: HashReply) => this.#settle(reply));
    this.#worker.on("error", (error: unknown) => this.#end(error as Error));
    this.#worker.on("exit", () => this.#end(new Error("the thread has ended")));
  }

  compare(call: Omit<HashCall, "id">): Promise<boolean> {
    clearTimeout(this.#idle);
    this.#worker.ref();
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...call, id });
    });
  }

  #settle(reply: HashReply): void {
    const one = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.failure === undefined) one?.resolve(reply.isRight);
    else one?.reject(new Error(reply.failure));
    if (this.#waiting.size > 0) return;
    // The process may end while the thread is idle.
    this.#worker.unref();
    this.#idle = setTimeout(() => {
      this.#onEnd();
      void this.#worker.terminate();
    }, IDLE).unref();
  }

  #end(error: Error): void {
    this.#onEnd();
    clearTimeout(this.#idle);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** One for all instances of the worker. */
let thread: HashThread | null = null;

/** Whether the password has the hash. Rejects if the hash cannot be computed. */
export function hasHash(password: Buffer, { hash, form }: Pick<HashCall, "hash" | "form">): Promise<boolean> {
  if (thread === null) {
    const started = new HashThread(() => {
      if (thread === started) thread = null;
    });
    thread = started;
  }
  return thread.compare({ password: new Uint8Array(password), hash, form });
}
