/** Requests to CAs: only https, bounded in size and time, without redirects. */
import { getCACertificates } from "node:tls";
import { Agent, request } from "undici";
import { AcmeProblem, problemOf } from "./problem.ts";

/** Directories, orders and chains are smaller. */
const MOST_BYTES = 1_048_576;
const TIMEOUT = 30_000;
/** The longest pause that a CA may ask for: limits of CAs apply to at most a week. */
const MOST_RETRY_AFTER = 7 * 24 * 3_600_000;

/** A response in the form in which acme-client reads it. */
export interface AcmeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text of another media type. */
  readonly data: unknown;
}

export interface AcmeTransport {
  /**
   * @throws AcmeProblem if there is no response, or the response is an error, other than `badNonce`: the protocol
   * repeats such a request.
   */
  request(url: string, method: string, body?: unknown): Promise<AcmeResponse>;
  close(): Promise<void>;
}

/** @param ca CAs in PEM by which the directories are verified, besides those of the machine; null: none. */
export function createTransport(ca: string | null): AcmeTransport {
  const trusted = ca === null ? {} : { connect: { ca: [...getCACertificates("default"), ca] } };
  const dispatcher = new Agent({
    ...trusted,
    headersTimeout: TIMEOUT,
    bodyTimeout: TIMEOUT,
    maxResponseSize: MOST_BYTES,
  });
  return {
    async request(url, method, body) {
      if (!URL.canParse(url) || new URL(url).protocol !== "https:")
        throw new AcmeProblem(`the CA's directory names the URL ${url}, which does not begin with https://`);
      const response = await send(url, method, { body, dispatcher }).catch((error: unknown) => {
        throw new AcmeProblem(`no response from ${new URL(url).host}: ${reasonOf(error)}`);
      });
      const isNonceRefused = Object(response.data).type === "urn:ietf:params:acme:error:badNonce";
      if (response.status < 400 || isNonceRefused) return response;
      const { status, headers } = response;
      const retryAfter = retryAfterOf(headers["retry-after"], Date.now());
      throw problemOf(response.data, `${new URL(url).host} answered with status ${status}`, { status, retryAfter });
    },
    close: () => dispatcher.destroy(),
  };
}

interface SendOptions {
  readonly body: unknown;
  readonly dispatcher: Agent;
}

async function send(url: string, method: string, { body, dispatcher }: SendOptions): Promise<AcmeResponse> {
  const response = await request(url, {
    method: method.toUpperCase() as "GET",
    dispatcher,
    headers: { "user-agent": "sluice", "content-type": "application/jose+json" },
    signal: AbortSignal.timeout(TIMEOUT),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : `${value}`,
    ]),
  );
  const text = await response.body.text();
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers["content-type"] ?? "");
  return { status: response.statusCode, headers, data: isJson && text !== "" ? JSON.parse(text) : text };
}

/** Milliseconds of a Retry-After header (RFC 9110 section 10.2.3), at most a week; null: there is none. */
export function retryAfterOf(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(wait) ? null : Math.min(Math.max(wait, 0), MOST_RETRY_AFTER);
}

function reasonOf(error: unknown): string {
  const { message, cause, code } = error as Error & { readonly code?: string };
  return message || (cause instanceof Error ? cause.message : code) || String(error);
}
