/** The operator's listener, as the admin listener asks it. */
import type { Log } from "@sluice/crds";
import type { WaitAnswer, WaitRequest } from "@sluice/model";
import type { AskOperator } from "./await-nodes.ts";

export interface Operator {
  readonly wait: AskOperator;
  /** The body of its GET /status; null when it cannot be reached. */
  status(): Promise<Readonly<Record<string, unknown>> | null>;
}

export interface OperatorOptions {
  readonly url: string;
  readonly log: Log;
  /** Ends all questions. */
  readonly signal: AbortSignal;
}

/** The network's part of a wait, on top of the wait itself. */
const GRACE = 250;
const STATUS_TIMEOUT = 2000;

export function createOperator({ url, log, signal }: OperatorOptions): Operator {
  async function ask(path: string, init: RequestInit, timeout: number): Promise<Record<string, unknown> | null> {
    try {
      const response = await fetch(new URL(path, url), {
        ...init,
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      });
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      const body: unknown = await response.json();
      return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : null;
    } catch (error) {
      const { message, cause } = error as Error;
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
      if (!signal.aborted) log.warn({ url, path, reason }, "the operator gives no answer");
      return null;
    }
  }

  return {
    async wait(request: WaitRequest) {
      const timeout = (request.timeout ?? 0) + GRACE;
      const body = JSON.stringify(request);
      const answer = await ask(
        "/wait",
        { method: "POST", headers: { "content-type": "application/json" }, body },
        timeout,
      );
      return answer && isWaitAnswer(answer) ? answer : null;
    },
    status: () => ask("/status", {}, STATUS_TIMEOUT),
  };
}

function isWaitAnswer(body: object): body is WaitAnswer {
  const { programmed, lagging, silent, problems } = body as Partial<Record<keyof WaitAnswer, unknown>>;
  return typeof programmed === "boolean" && [lagging, silent, problems].every(Array.isArray);
}
