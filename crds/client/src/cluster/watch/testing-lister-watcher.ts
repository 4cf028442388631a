/** A reflector on a transport and a clock that a test controls. */
import type { Resource } from "../../resource.ts";
import { ApiServerError } from "../api/api-server-error.ts";
import { type Clock, type ListerWatcher, runReflector, silenceLimit, type WatchEvent } from "./reflector.ts";

export interface FakeApiServer {
  /** `list`, `list <token>`, `watch <version>` in order. */
  readonly calls: readonly string[];
  readonly reported: readonly string[];
  /** The messages of the errors passed to `failure`; null where it was passed null. */
  readonly reportedFailures: readonly (string | null)[];
  /** Delays between attempts in milliseconds, without those that run while a list or watch is open. */
  readonly waits: readonly number[];
  readonly timeouts: readonly number[];
  /** Messages of errors in the log. */
  readonly errors: readonly string[];
  pages: number;
  /** Milliseconds that each page takes. */
  pageTakes: number;
  pagesExpire: boolean;
  observerThrows: boolean;
  failLists(error: Error, times: number): void;
  failWatches(error: Error, times: number): void;
  /** Lets this number of further lists hang. Default: all. */
  hangLists(times?: number): void;
  hangWatches(): void;
  /** Runs everything that can run without time passing. The first call starts the reflector. */
  settle(): Promise<void>;
  advance(milliseconds: number): Promise<void>;
  send(event: WatchEvent): Promise<void>;
  /** Ends the open watch with this error or, without an error, as when a server closes the stream. */
  endWatch(error?: Error): Promise<void>;
  /** Aborts the signal of `reconnect`, as `rewatch` does. */
  cut(): Promise<void>;
  openWatches(): number;
  sleepers(): number;
  /** Aborts the reflector, and waits until it has ended. */
  end(): Promise<void>;
}

interface Stream {
  readonly queue: WatchEvent[];
  ended: boolean;
  error?: Error;
  wake: () => void;
}

const item = (name: string): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Service",
  metadata: { name, namespace: "default" },
});

export function createFake(): FakeApiServer {
  const calls: string[] = [];
  const reported: string[] = [];
  const reportedFailures: (string | null)[] = [];
  const waits: number[] = [];
  const timeouts: number[] = [];
  const errors: string[] = [];
  const failures = { list: [] as Error[], watch: [] as Error[] };
  const hang = { lists: 0, watch: false };
  const open = new Set<Stream>();
  const sleeping = new Set<{ until: number; wake: () => void }>();
  const stop = new AbortController();
  let cutting = new AbortController();
  let listing = 0;
  let now = 0;

  const clock: Clock = {
    now: () => now,
    random: () => 0.5,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        // The watchdog's sleep of `silenceLimit`, while a watch is open or about to open, is not a delay between
        // attempts.
        if (open.size === 0 && listing === 0 && milliseconds !== silenceLimit) waits.push(milliseconds);
        const sleeper = { until: now + milliseconds, wake: () => {} };
        sleeper.wake = () => {
          sleeping.delete(sleeper);
          signal.removeEventListener("abort", sleeper.wake);
          resolve();
        };
        sleeping.add(sleeper);
        signal.addEventListener("abort", sleeper.wake);
      }),
  };

  async function* read(stream: Stream, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    try {
      for (;;) {
        signal.throwIfAborted();
        const event = stream.queue.shift();
        if (event) yield event;
        else if (stream.error) throw stream.error;
        else if (stream.ended) return;
        else await new Promise<void>((resolve) => (stream.wake = resolve));
      }
    } finally {
      open.delete(stream);
    }
  }

  const hanging = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

  const transport: ListerWatcher = {
    async list(query, signal) {
      calls.push(query.continue ? `list ${query.continue}` : "list");
      listing++;
      try {
        if (hang.lists > 0) {
          hang.lists--;
          return await hanging(signal);
        }
        if (fake.pageTakes > 0) await clock.sleep(fake.pageTakes, signal);
        signal.throwIfAborted();
      } finally {
        listing--;
      }
      const failure = failures.list.shift();
      if (failure) throw failure;
      if (query.continue && fake.pagesExpire) throw new ApiServerError(410, { code: 410 });
      if (query.limit === undefined) return { items: ["a", "a2", "a3"].map(item), resourceVersion: "10" };
      const page = Number(query.continue?.slice(4) ?? 1);
      const next = page < fake.pages ? { continue: `page${page + 1}` } : {};
      return { items: [item(page === 1 ? "a" : `a${page}`)], resourceVersion: "10", ...next };
    },
    async watch({ resourceVersion, timeoutSeconds }, signal) {
      calls.push(`watch ${resourceVersion}`);
      timeouts.push(timeoutSeconds);
      const failure = failures.watch.shift();
      if (failure) throw failure;
      const stream: Stream = { queue: [], ended: false, wake: () => {} };
      open.add(stream);
      signal.addEventListener("abort", () => {
        open.delete(stream);
        stream.wake();
      });
      if (hang.watch) return hanging(signal);
      return read(stream, signal);
    },
  };

  const tell = (what: string) => {
    reported.push(what);
    if (fake.observerThrows) throw new Error("the observer's own");
  };

  async function settle(): Promise<void> {
    reflecting ??= start();
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  const toStream = async (change: (stream: Stream) => void) => {
    const [stream, ...others] = open;
    if (!stream || others.length > 0) throw new Error(`${open.size} watches are open`);
    change(stream);
    stream.wake();
    await settle();
  };

  const fake: FakeApiServer = {
    calls,
    reported,
    reportedFailures,
    waits,
    timeouts,
    errors,
    pages: 1,
    pageTakes: 0,
    pagesExpire: false,
    observerThrows: false,
    failLists: (error, times) => failures.list.push(...Array<Error>(times).fill(error)),
    failWatches: (error, times) => failures.watch.push(...Array<Error>(times).fill(error)),
    hangLists(times = Number.POSITIVE_INFINITY) {
      hang.lists = times;
    },
    hangWatches() {
      hang.watch = true;
    },
    settle,
    async advance(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        const [first] = [...sleeping].sort((a, b) => a.until - b.until);
        if (!first || first.until > end) break;
        now = first.until;
        first.wake();
        await settle();
      }
      now = end;
      await settle();
    },
    send: (event) => toStream(({ queue }) => queue.push(event)),
    endWatch: (error) =>
      toStream((stream) => {
        stream.ended = true;
        stream.error = error;
      }),
    cut() {
      cutting.abort();
      cutting = new AbortController();
      return settle();
    },
    openWatches: () => open.size,
    sleepers: () => sleeping.size,
    async end() {
      stop.abort();
      await reflecting;
    },
  };

  let reflecting: Promise<void> | undefined;
  const start = () =>
    runReflector({
      kind: "Service",
      listerWatcher: transport,
      clock,
      log: { info() {}, warn() {}, error: (_, message) => errors.push(message) },
      signal: stop.signal,
      reconnect: () => cutting.signal,
      observer: {
        replaced: (resources) => tell(`replaced ${resources.map(({ metadata }) => metadata.name).join(",")}`),
        changed: ({ metadata }) => tell(`changed ${metadata.name}`),
        removed: ({ metadata }) => tell(`removed ${metadata.name}`),
        lost: (error) => tell(`lost ${error.message}`),
        failure: (error) => reportedFailures.push(error?.message ?? null),
      },
    });
  return fake;
}
