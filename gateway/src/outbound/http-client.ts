/** The HTTP client of plugins. All its connections pass the guard. */
import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP } from "node:net";
import type { HttpClient, HttpRequest, HttpResponse } from "@sluice/plugin-sdk";
import type { Connect } from "./connect.ts";

/** Not loaded by an import, which costs memory; see proxy/response/reason-phrases.ts. */
const { Agent, request: requestHttp } = process.getBuiltinModule("node:http");

/** Milliseconds that an idle connection is kept by default. */
const KEEP_ALIVE = 60_000;
/** Maximum bytes of a response by default. */
const MAX_RESPONSE = 1024 * 1024;
/** The highest valid status code. */
const LAST_STATUS = 599;
/** Maximum connections of a client to one server; further requests wait. */
const MAX_CONNECTIONS = 32;
/** Maximum idle connections to one server. */
const MAX_IDLE = 4;

export class GuardedHttpClient implements HttpClient {
  readonly #connect: Connect;
  /** By the properties of a request that its connection must have: protocol, verification and keep-alive time. */
  readonly #agents = new Map<string, GuardedAgent>();
  #isClosed = false;

  constructor(connect: Connect) {
    this.#connect = connect;
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    if (this.#isClosed) throw new Error("the HTTP client is closed");
    const url = urlOf(request.url);
    const agent = this.#agentFor(request, url);
    try {
      return await exchange(request, url, agent).catch((error: unknown) => {
        if (error instanceof StaleConnection && repeatable.has(request.method)) return exchange(request, url, agent);
        throw error;
      });
    } catch (error) {
      throw new Error(`${url.protocol}//${url.host}: ${reasonOf(error)}`);
    }
  }

  /** Closes all connections; requests under way fail. */
  close(): void {
    this.#isClosed = true;
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #agentFor({ keepAlive = KEEP_ALIVE, verify = true }: HttpRequest, { protocol }: URL): GuardedAgent {
    const key = `${protocol} ${verify} ${keepAlive}`;
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      agent = new GuardedAgent(this.#connect, { isSecure: protocol === "https:", verify, keepAlive });
      this.#agents.set(key, agent);
    }
    return agent;
  }
}

/** Methods of requests that may be sent again (RFC 9110 section 9.2.2) if the server has closed an idle connection. */
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The server closed a kept connection before, or at the moment when, the request was sent on it. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

interface AgentSettings {
  readonly isSecure: boolean;
  readonly verify: boolean;
  readonly keepAlive: number;
}

class GuardedAgent extends Agent {
  readonly #connect: Connect;
  readonly #settings: AgentSettings;

  constructor(connect: Connect, settings: AgentSettings) {
    super({
      keepAlive: settings.keepAlive > 0,
      timeout: settings.keepAlive,
      maxSockets: MAX_CONNECTIONS,
      maxFreeSockets: MAX_IDLE,
    });
    this.#connect = connect;
    this.#settings = settings;
  }

  override createConnection({ host, port }: RequestOptions) {
    const { isSecure, verify } = this.#settings;
    const name = host ?? "";
    const tls = { rejectUnauthorized: verify, ...(isIP(name) === 0 && { servername: name }) };
    return this.#connect({ host: name, port: Number(port), ...(isSecure && { tls }) });
  }
}

/** Throws on a URL that cannot be requested. The message does not repeat the URL, which may contain secrets. */
function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new Error("the URL of a plugin's request is invalid");
  }
  return url;
}

function exchange(asked: HttpRequest, url: URL, agent: GuardedAgent): Promise<HttpResponse> {
  const { method, headers = {}, body = "", timeout, maxResponse = MAX_RESPONSE } = asked;
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
  const sent = requestHttp({
    agent,
    method,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
    path: url.pathname + url.search,
    headers: { Host: url.host, ...headers, "Content-Length": Buffer.byteLength(body) },
  });
  const late = setTimeout(() => sent.destroy(new Error(`no complete response within ${timeout} ms`)), timeout);
  sent.once("response", (response) => {
    const { statusCode = 0 } = response;
    // An invalid status (RFC 9110 section 15). A plugin that answered a client with it would fail over HTTP/2.
    if (statusCode > LAST_STATUS) {
      sent.destroy(new Error(`the server answered with the invalid status ${statusCode}`));
      return;
    }
    read(response, maxResponse).then(
      (read) => resolve({ status: statusCode, headers: response.headers, body: read }),
      reject,
    );
  });
  // Without a listener, Node closes the connection and reports neither a response nor an error.
  sent.once("upgrade", (_response, socket) => {
    socket.destroy();
    reject(new Error("the server switched to another protocol"));
  });
  sent.on("error", (error) => {
    const isStale = sent.reusedSocket && Object(error).code === "ECONNRESET";
    reject(isStale ? new StaleConnection(error.message) : error);
  });
  sent.end(body);
  return promise.finally(() => clearTimeout(late));
}

/** The whole body. An error that ends the loop before the end of the response closes the connection. */
async function read(response: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw new Error(`the response has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** If the connections to all addresses of a name fail, Node reports an AggregateError without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
