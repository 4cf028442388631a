/** The HTTP client of plugins. All its connections pass the guard. */
import { isIP } from "node:net";
import { type HttpClient, type HttpRequest, type HttpResponse, LruCache } from "@sluice/plugin-sdk";
import type { Connect } from "../../../outbound/connect.ts";
import type { OpenHttpClient } from "../../../plugin-services/instance-context.ts";
import { PluginHttpCall, StaleConnectionError } from "./http-call.ts";
import { OriginConnections } from "./origin-connections.ts";
import { requestText } from "./request-text.ts";

/** Milliseconds that an idle connection is kept by default. */
const KEEP_ALIVE = 60_000;
/** Maximum milliseconds of a timer of Node. */
const MAX_TIMER = 2 ** 31 - 1;
/** Number of servers above which those without connections are forgotten. */
const MAX_ORIGINS = 64;
/** Parsed URLs that are kept; most clients use only one. */
const MAX_URLS = 8;

/** Methods of requests that may be sent again (RFC 9110 section 9.2.2) if the server has closed an idle connection. */
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export const httpClientsBehind =
  (connect: Connect): OpenHttpClient =>
  () =>
    new PluginHttpClient(connect);

class PluginHttpClient implements HttpClient {
  readonly #connect: Connect;
  /** By the server and those options of a request on which its connection depends. */
  readonly #origins = new Map<string, OriginConnections>();
  readonly #urls = new LruCache<URL>(MAX_URLS);
  readonly #calls = new Set<PluginHttpCall>();
  #isClosed = false;

  constructor(connect: Connect) {
    this.#connect = connect;
  }

  async send(asked: HttpRequest): Promise<HttpResponse> {
    const method = asked.method.toUpperCase();
    const request = method === asked.method ? asked : { ...asked, method };
    if (this.#isClosed) throw new Error("the HTTP client is closed");
    const url = this.#parsed(request.url);
    const deadline = performance.now() + request.timeout;
    try {
      return await this.#exchange(request, url, deadline).catch((error: unknown) => {
        const isStale = error instanceof StaleConnectionError;
        if (!isStale || !repeatable.has(request.method) || this.#isClosed) throw error;
        // The server has probably forgotten the other idle connections too.
        this.#connectionsFor(request, url).closeIdle();
        return this.#exchange(request, url, deadline);
      });
    } catch (error) {
      throw new Error(`${url.protocol}//${url.host}: ${reasonOf(error)}`);
    }
  }

  /** Closes all connections; requests under way fail. */
  close(): void {
    this.#isClosed = true;
    for (const call of this.#calls) call.abort(new Error("the HTTP client is closed"));
    for (const connections of this.#origins.values()) connections.close();
  }

  async #exchange(request: HttpRequest, url: URL, deadline: number): Promise<HttpResponse> {
    const { body = "", keepAlive = KEEP_ALIVE } = request;
    // Plugins in JavaScript may pass another Uint8Array.
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    const head = requestText(request, {
      path: url.pathname + url.search,
      host: url.host,
      length: bytes.length,
      isKept: keepAlive > 0,
    });
    const connections = this.#connectionsFor(request, url);
    const call = new PluginHttpCall({ connections, request, head, body: bytes, deadline });
    this.#calls.add(call);
    try {
      return await call.response;
    } finally {
      this.#calls.delete(call);
      if (this.#origins.size > MAX_ORIGINS) this.#forgetUnused();
    }
  }

  #forgetUnused(): void {
    for (const [key, connections] of this.#origins) if (connections.isUnused) this.#origins.delete(key);
  }

  /** Throws on a URL that cannot be requested. The message does not repeat the URL, which may contain secrets. */
  #parsed(text: string): URL {
    const known = this.#urls.get(text);
    if (known !== undefined) return known;
    const url = URL.parse(text);
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
      throw new Error("the URL of a plugin's request is invalid");
    }
    this.#urls.set(text, url);
    return url;
  }

  #connectionsFor({ keepAlive = KEEP_ALIVE, verify = true }: HttpRequest, url: URL): OriginConnections {
    const key = `${url.origin} ${verify} ${keepAlive}`;
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const isSecure = url.protocol === "https:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const target = {
      key,
      service: "",
      scheme: isSecure ? ("https" as const) : ("http" as const),
      host,
      port: Number(url.port || (isSecure ? 443 : 80)),
      connectTimeout: MAX_TIMER,
      verify,
      verifyDepth: null,
      authorities: null,
      serverName: isIP(host) === 0 ? host : null,
      names: null,
      certificate: null,
      hostHeader: null,
    };
    const connections = new OriginConnections({ connect: this.#connect, target, keepAlive });
    this.#origins.set(key, connections);
    return connections;
  }
}

/** If the connections to all addresses of a name fail, Node reports an AggregateError without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  // The messages of connections to upstreams apply to any server.
  return error instanceof Error ? error.message.replace("the upstream", "the server") : String(error);
}
