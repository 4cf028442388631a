/** The admin listener's client for the operator's listener. */
import type { Log } from "@sluice/crds";
import type { WaitRequest, WaitResponse, WrittenResource } from "@sluice/model";
import { Agent, request } from "undici";

export interface OperatorClient {
  /** Whether the nodes serve the written resources; null when the operator cannot be reached or does not answer. */
  wait(written: readonly WrittenResource[], timeout: number): Promise<WaitResponse | null>;
  /** The body of the operator's GET /status; null when the operator cannot be reached. */
  status(): Promise<Readonly<Record<string, unknown>> | null>;
}

export interface OperatorClientOptions {
  readonly url: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Milliseconds for the network, in addition to the wait itself. */
const GRACE = 250;
/** Milliseconds to wait for GET /status. */
const STATUS_TIMEOUT = 2000;

export function createOperatorClient({ url, log, signal }: OperatorClientOptions): OperatorClient {
  // Every write sends a request: fetch with a signal for each timeout costs several times as much.
  const dispatcher = new Agent();
  const asking = new Set<AbortController>();
  signal.addEventListener("abort", () => {
    for (const one of asking) one.abort();
    void dispatcher.destroy().catch(() => undefined);
  });

  async function ask(path: string, question: object | null, timeout: number): Promise<Record<string, unknown> | null> {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(new Error(`no response within ${timeout} ms`)), timeout);
    asking.add(ending);
    try {
      const { statusCode, body } = await request(new URL(path, url), {
        ...(question
          ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) }
          : {}),
        dispatcher,
        signal: ending.signal,
      });
      const text = await body.text();
      if (statusCode < 200 || statusCode > 299) throw new Error(`it answered ${statusCode}`);
      const received: unknown = JSON.parse(text);
      return typeof received === "object" && received !== null ? (received as Record<string, unknown>) : null;
    } catch (error) {
      const { message, cause } = error as Error;
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
      if (!signal.aborted) log.warn({ url, path, reason }, "the operator gave no valid response");
      return null;
    } finally {
      clearTimeout(timer);
      asking.delete(ending);
    }
  }

  return {
    wait: (written, timeout) =>
      awaitNodes(written, timeout, async (question) => {
        const answer = await ask("/wait", question, timeout + GRACE);
        return answer && isWaitAnswer(answer) ? answer : null;
      }),
    status: () => ask("/status", null, STATUS_TIMEOUT),
  };
}

function isWaitAnswer(body: object): body is WaitResponse {
  const { programmed, lagging, silent, problems } = body as Partial<Record<keyof WaitResponse, unknown>>;
  return typeof programmed === "boolean" && [lagging, silent, problems].every(Array.isArray);
}

const MAX_RESOURCES = 100;

/** Sends as many requests as necessary and merges their answers. */
export async function awaitNodes(
  written: readonly WrittenResource[],
  timeout: number,
  ask: (request: WaitRequest) => Promise<WaitResponse | null>,
): Promise<WaitResponse | null> {
  const questions = Array.from({ length: Math.ceil(written.length / MAX_RESOURCES) }, (_, index) =>
    ask({ resources: written.slice(index * MAX_RESOURCES, (index + 1) * MAX_RESOURCES), timeout }),
  );
  const answers = await Promise.all(questions);
  const received = answers.filter((answer) => answer !== null);
  if (received.length < answers.length) return null;
  const nodes = (which: "lagging" | "silent") => [...new Set(received.flatMap((answer) => answer[which]))];
  const lagging = nodes("lagging");
  return {
    programmed: received.every(({ programmed }) => programmed),
    revision: Math.max(...received.map(({ revision }) => revision)),
    acknowledged: (received[0]?.acknowledged ?? []).filter((node) => !lagging.includes(node)),
    lagging,
    silent: nodes("silent"),
    problems: received.flatMap(({ problems }) => problems),
  };
}
