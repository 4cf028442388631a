/** A held response as a `Response` of the Fetch API, and the response that a middleware returns instead. */
import type { DirectResponse, Exchange } from "../exchange/exchange.ts";
import { connectionHeaders } from "../exchange/header-name.ts";
import type { HeldResponse } from "../exchange/held-response.ts";
import { lazyBody } from "./web-body.ts";

export class ResponseBodyTooLongError extends Error {
  override readonly name = "ResponseBodyTooLongError";
}

/** Statuses for which a `Response` cannot have a body (https://fetch.spec.whatwg.org/#null-body-status). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

export class WebResponse {
  readonly #held: HeldResponse;
  readonly #headers = new Headers();
  readonly #body: ReadableStream | null;
  /**
   * The `Response` for the middleware. The constructor of WebResponse throws a RangeError if the status of the held
   * response is above 599, which a `Response` cannot have.
   */
  readonly response: Response;

  /** @param bodyLimit Maximum bytes of a body that the middleware reads */
  constructor(held: HeldResponse, bodyLimit: number) {
    const { status, headers, hasBody } = held;
    this.#held = held;
    for (let at = 0; at + 1 < headers.length; at += 2) this.#headers.append(headers[at] ?? "", headers[at + 1] ?? "");
    const reason = `the body of the response is longer than the ${bodyLimit} bytes that a middleware may read`;
    this.#body =
      hasBody && !BODILESS.has(status)
        ? lazyBody(
            () => held.body(bodyLimit),
            () => new ResponseBodyTooLongError(reason),
          )
        : null;
    this.response = new Response(this.#body, { status, headers: this.#headers });
  }

  /**
   * Returns the response that replaces the held one. Undefined if the middleware has returned the held body unread with
   * the same status: then its changes of the headers become edits, and the body streams. Rejects if the body of the
   * returned `Response` has already been read.
   */
  async replacement(returned: Response, exchange: Exchange): Promise<DirectResponse | undefined> {
    if (returned.body !== this.#body || returned.status !== this.#held.status) {
      const body = Buffer.from(await returned.arrayBuffer());
      return { status: returned.status, keptHeaders: [...returned.headers].flat(), body };
    }
    if (returned.bodyUsed)
      throw new TypeError("the body of the returned Response has been read: return new Response(text, response)");
    this.#editHeaders(exchange, returned.headers);
    return undefined;
  }

  #editHeaders({ responseHeaders: edits }: Exchange, after: Headers): void {
    const before = this.#headers;
    for (const [name, value] of after) if (value !== before.get(name) && isEditable(name)) edits.set(name, value);
    for (const name of before.keys()) if (!after.has(name) && isEditable(name)) edits.remove(name);
    // Several cookies cannot be joined in one header line (RFC 6265 section 3).
    const cookies = after.getSetCookie();
    if (cookies.join("\n") === before.getSetCookie().join("\n")) return;
    edits.remove(COOKIES);
    for (const cookie of cookies) edits.append(COOKIES, cookie);
  }
}

const COOKIES = "set-cookie";

const isEditable = (name: string): boolean => name !== COOKIES && !connectionHeaders.has(name);
