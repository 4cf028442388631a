/** The admin listener's client for the operator's listener. */
import type { Log } from "@sluice/crds";
import {
  isPluginEndpointResults,
  NODE_ENDPOINT_TIMEOUT,
  type PluginEndpointCall,
  type PluginEndpointResults,
  type WaitRequest,
  type WaitResponse,
  type WrittenResource,
} from "@sluice/model";
import { Agent, request } from "undici";
import { adminSettings } from "../../settings/commands/admin.ts";
import { NodesUnreachable } from "../store.ts";

export interface OperatorClient {
  /** Whether the nodes serve the written resources; null when the operator sends no valid response in time. */
  wait(written: readonly WrittenResource[], timeout: number): Promise<WaitResponse | null>;
  /** The body of the operator's GET /status; null when the operator sends no valid response in time. */
  status(): Promise<Readonly<Record<string, unknown>> | null>;
  /**
   * Sends a request to an endpoint of a plugin to every node, and returns the responses.
   *
   * @throws NodesUnreachable when there is no token, or the operator refuses or sends no valid response in time.
   */
  askPlugin(call: PluginEndpointCall): Promise<PluginEndpointResults>;
}

export interface OperatorClientOptions {
  readonly url: string;
  /**
   * The token for requests to endpoints of plugins; null: no such request is sent, because the operator would refuse
   * it.
   */
  readonly token: string | null;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Milliseconds for the network, in addition to the wait itself. */
const GRACE = 250;
/** Path of requests to endpoints of plugins. */
const PLUGINS = "/plugins";
/** Milliseconds for a request to an endpoint of a plugin, in addition to the time that the nodes have. */
const PLUGINS_GRACE = 1000;
/** Milliseconds to wait for GET /status. */
const STATUS_TIMEOUT = 2000;

export function createOperatorClient({ url, token, log, signal }: OperatorClientOptions): OperatorClient {
  // Every write sends a request, and fetch with a timeout signal would cost several times as much as this dispatcher.
  const dispatcher = new Agent();
  const asking = new Set<AbortController>();
  signal.addEventListener("abort", () => {
    for (const one of asking) one.abort();
    void dispatcher.destroy().catch(() => undefined);
  });

  /** Rejects when there is no response with a status from 200 to 299. */
  async function send(path: string, question: object | null, timeout: number): Promise<unknown> {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(new Error(`no response within ${timeout} ms`)), timeout);
    asking.add(ending);
    try {
      const { statusCode, body } = await request(new URL(path, url), {
        ...(question
          ? {
              method: "POST",
              headers: { "content-type": "application/json", ...authorization(path) },
              body: JSON.stringify(question),
            }
          : {}),
        dispatcher,
        signal: ending.signal,
      });
      const text = await body.text();
      if (statusCode < 200 || statusCode > 299) throw new Error(`it answered ${statusCode}${quotedMessage(text)}`);
      return JSON.parse(text);
    } finally {
      clearTimeout(timer);
      asking.delete(ending);
    }
  }

  /** Only requests to endpoints of plugins carry the token. */
  const authorization = (path: string) =>
    path === PLUGINS && token !== null ? { authorization: `Bearer ${token}` } : {};

  async function ask(path: string, question: object | null, timeout: number): Promise<Record<string, unknown> | null> {
    try {
      const received = await send(path, question, timeout);
      return typeof received === "object" && received !== null ? (received as Record<string, unknown>) : null;
    } catch (error) {
      if (!signal.aborted) log.warn({ url, path, reason: reasonOf(error) }, "the operator sent no valid response");
      return null;
    }
  }

  return {
    wait: (written, timeout) =>
      awaitNodes(written, timeout, async (question) => {
        const answer = await ask("/wait", question, timeout + GRACE);
        return answer && isWaitAnswer(answer) ? answer : null;
      }),
    status: () => ask("/status", null, STATUS_TIMEOUT),
    async askPlugin(call) {
      if (token === null) {
        const { variable } = adminSettings.operatorToken;
        throw new NodesUnreachable(
          `the nodes cannot be asked without a token: set ${variable} here and in the operator`,
        );
      }
      const received = await send(PLUGINS, call, NODE_ENDPOINT_TIMEOUT + PLUGINS_GRACE).catch((error: unknown) => {
        throw new NodesUnreachable(`the operator at ${url} cannot ask the nodes: ${reasonOf(error)}`);
      });
      if (isPluginEndpointResults(received)) return received;
      throw new NodesUnreachable(`the response from ${url} is not a response of the operator`);
    },
  };
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** The reason that the operator gives for refusing a request, after a colon; empty if it gives none. */
function quotedMessage(text: string): string {
  const message = /"message":("(?:[^"\\]|\\.)*")/.exec(text.slice(0, 1000))?.[1];
  return message === undefined ? "" : `: ${JSON.parse(message)}`;
}

function isWaitAnswer(body: object): body is WaitResponse {
  const { programmed, lagging, silent, problems } = body as Partial<Record<keyof WaitResponse, unknown>>;
  return typeof programmed === "boolean" && [lagging, silent, problems].every(Array.isArray);
}

const MAX_RESOURCES = 100;

/** Sends as many requests as necessary and merges the responses; null if a request gets no valid response. */
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
