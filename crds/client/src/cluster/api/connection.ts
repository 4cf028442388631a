/**
 * Calls to the API server: JSON in and out, error responses as `ApiServerError`, and a few retries where these are
 * harmless.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { rejectOnAbort } from "../../reject-on-abort.ts";
import { ApiServerError, apiServerErrorOf } from "./api-server-error.ts";
import {
  type ApiEndpoint,
  type Credentials,
  createCredentials,
  type KubeconfigOptions,
  loadKubeconfig,
} from "./credentials.ts";

export interface ApiCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** From the root of the API, such as `/api/v1/secrets`, with its segments already escaped. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Default `application/json`. A PATCH must name its patch type. */
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

export interface ClusterConnection {
  /** Resolves to the parsed response (null: empty). Rejects with an ApiServerError, a network error or on abort. */
  call(call: ApiCall): Promise<unknown>;
  /** Resolves when the response headers have arrived; the body has no time limit. */
  open(call: ApiCall): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

/** A completed request, for metrics. */
export interface CompletedRequest {
  readonly method: string;
  /** The response status, or `<error>` (as in client-go) when there was no response. */
  readonly code: string;
  /** The API server's host with port. */
  readonly host: string;
  /** Seconds until the response headers arrived. */
  readonly seconds: number;
}

export interface ConnectionOptions {
  /** Called for every request; each attempt counts separately. */
  readonly onRequestEnd?: (completed: CompletedRequest) => void;
}

const attempts = 4;
const answerTimeout = 30_000;
/** Milliseconds. Longer Retry-After delays are left to the caller. */
const longestWait = 5_000;

/** @throws KubeconfigError when the kubeconfig cannot be read. */
export const connectToCluster = (options: KubeconfigOptions & ConnectionOptions): ClusterConnection =>
  createConnection(createCredentials(loadKubeconfig(options)), options);

export function createConnection(
  credentials: Credentials,
  { onRequestEnd }: ConnectionOptions = {},
): ClusterConnection {
  /**
   * After a 401, retries once with reloaded credentials: a token may be replaced before its cached copy is refreshed.
   * This is safe for writes, because the server did nothing for an unauthenticated request.
   */
  async function send(call: ApiCall, bodyTimeout: number) {
    const access = await credentials.endpoint();
    try {
      return await sendAs(access, call, bodyTimeout);
    } catch (error) {
      const fresh = error instanceof ApiServerError && error.code === 401 ? await credentials.reload(access) : null;
      if (!fresh) throw error;
      return sendAs(fresh, call, bodyTimeout);
    }
  }

  async function sendAs({ origin, headers, dispatcher }: ApiEndpoint, call: ApiCall, bodyTimeout: number) {
    call.signal?.throwIfAborted();
    const url = new URL(origin.replace(/\/$/, "") + call.path);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const began = performance.now();
    const report = (code: string) =>
      onRequestEnd?.({ method: call.method, code, host: url.host, seconds: (performance.now() - began) / 1000 });
    const asked = dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: call.method,
      headers: {
        ...headers,
        accept: call.accept ?? "application/json",
        "user-agent": "sluice",
        ...(call.body === undefined ? {} : { "content-type": call.contentType ?? "application/json" }),
      },
      body: call.body === undefined ? null : yamlSafe(JSON.stringify(call.body)),
      signal: call.signal ?? null,
      headersTimeout: answerTimeout,
      bodyTimeout,
    });
    const response = await rejectOnAbort(asked, call.signal).catch((error: unknown) => {
      report("<error>");
      throw error;
    });
    const { statusCode, headers: answered, body } = response;
    report(`${statusCode}`);
    if (statusCode < 400) return body;
    const after = answered["retry-after"];
    throw apiServerErrorOf({
      code: statusCode,
      body: await body.text(),
      retryAfter: Array.isArray(after) ? after[0] : after,
      request: `${call.method} ${call.path}`,
    });
  }

  return {
    async call(call) {
      for (let attempt = 1; ; attempt++) {
        try {
          const body = await send(call, answerTimeout);
          const text = await body.text();
          return text === "" ? null : JSON.parse(text);
        } catch (error) {
          const wait = retryDelay(call, error, attempt);
          if (wait === undefined) throw error;
          await sleep(wait, undefined, { signal: call.signal });
        }
      }
    },
    open: (call) => send(call, 0),
    close: () => credentials.close(),
  };
}

/**
 * Escapes the characters that YAML rejects or reads as line breaks, because the API server parses an applied body as
 * YAML. In JSON they can occur only inside strings.
 */
const yamlSafe = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * Milliseconds until the next attempt; undefined: no retry. A request is retried if its connection was refused, or if
 * the server asks to repeat it soon (429 or 503). After a broken connection only reads are retried, because a write may
 * have been executed.
 */
function retryDelay(call: ApiCall, error: unknown, attempt: number): number | undefined {
  if (attempt >= attempts || call.signal?.aborted) return undefined;
  if (error instanceof ApiServerError)
    return (error.code === 429 || error.code === 503) &&
      error.retryAfter !== undefined &&
      error.retryAfter <= longestWait
      ? Math.max(error.retryAfter, 100)
      : undefined;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const broke = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(code);
  return code === "ECONNREFUSED" || (broke && call.method === "GET") ? 100 * 2 ** attempt : undefined;
}
