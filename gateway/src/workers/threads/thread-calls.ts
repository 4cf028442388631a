/** Calls of functions between the control thread and a worker thread. Arguments and results are plain data. */

// biome-ignore lint/suspicious/noExplicitAny: any function fits
type Functions = Readonly<Record<string, (...given: any[]) => unknown>>;

/** An error as it is sent: a structured clone of an error would lose `code` and `port`. */
type PlainError = Pick<NodeJS.ErrnoException, "message" | "stack" | "code"> & { readonly port?: number };

/** A call, or the answer to the call with the same `id`. A call whose `id` is null gets no answer. */
type Message =
  | { readonly name: string; readonly given: readonly unknown[]; readonly id: number | null }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: PlainError };

/** A `Worker`, or the `parentPort` of a worker thread. */
interface Port {
  postMessage(message: unknown): void;
  on(event: "message", listener: (message: Message) => void): unknown;
}

/** @typeParam Theirs The functions of the other thread. */
export class ThreadCalls<Theirs extends Functions> {
  readonly #port: Port;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  constructor(port: Port) {
    this.#port = port;
  }

  /** Begins to receive messages, and answers calls with these functions. Messages that came earlier were queued. */
  listen(own: Functions): void {
    this.#port.on("message", (message: Message) => {
      if ("name" in message) void this.#answer(message.id, async () => own[message.name]?.(...message.given));
      else this.#settle(message);
    });
  }

  /** Rejects with the other thread's error, or when that thread ends. */
  call<Name extends keyof Theirs & string>(
    name: Name,
    ...given: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    const id = ++this.#lastId;
    const pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    this.#post({ name, given, id });
    return pending.promise as Promise<Awaited<ReturnType<Theirs[Name]>>>;
  }

  /** Calls without waiting for an answer. */
  send<Name extends keyof Theirs & string>(name: Name, ...given: Parameters<Theirs[Name]>): void {
    this.#post({ name, given, id: null });
  }

  /** Called when the other thread has ended: rejects all pending calls. */
  end(reason: Error): void {
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  #post(message: Message): void {
    this.#port.postMessage(message);
  }

  async #answer(id: number | null, run: () => Promise<unknown>): Promise<void> {
    try {
      const result = await run();
      if (id !== null) this.#post({ id, result });
    } catch (thrown) {
      const { message, stack, code, port }: PlainError = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (id !== null) this.#post({ id, error: { message, stack, code, port } });
    }
  }

  #settle(answer: Exclude<Message, { name: string }>): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if ("error" in answer) pending?.reject(Object.assign(new Error(), answer.error));
    else pending?.resolve(answer.result);
  }
}

/** Resolves to the answer; to undefined when it takes longer than `timeout` milliseconds, or is an error. */
export async function answerInTime<Result>(answer: Promise<Result>, timeout: number): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), timeout);
  try {
    return await Promise.race([answer.catch(() => undefined), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
