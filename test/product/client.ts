/** The requests and the upstream of the suites that test the whole product. */
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { KeyPair } from "../../tools/programs/certificates.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed when it is JSON. */
  readonly body: unknown;
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** Sends a GET request. Rejects if there is no response within 10 s. */
export async function getUrl(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return read(await fetch(url, { headers, signal: AbortSignal.timeout(10_000) }));
}

export interface UserQuery {
  readonly query: string;
  /** Sent in the header apikey. Undefined: no key is sent. */
  readonly key?: string;
  /** Path of the route. Default /users. */
  readonly path?: string;
}

/** Queries the user API through a proxy. */
export async function queryUserApi(proxy: string, { query, key, path = "/users" }: UserQuery): Promise<Answer> {
  const headers = { "content-type": "application/json", ...(key === undefined ? {} : { apikey: key }) };
  const body = JSON.stringify({ query });
  const signal = AbortSignal.timeout(10_000);
  return read(await fetch(`http://${proxy}${path}/graphql`, { method: "POST", headers, body, signal }));
}

export interface NamedUpstream {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * A server that responds to every request with its name and the received path. Default host 127.0.0.1.
 *
 * @param pair The certificate of a TLS server; undefined: it speaks HTTP without TLS.
 */
export async function startNamedUpstream(name: string, host = "127.0.0.1", pair?: KeyPair): Promise<NamedUpstream> {
  const answer: RequestListener = (request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, path: request.url }));
  };
  const server = pair ? createTlsServer({ cert: pair.certificate, key: pair.key }, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
