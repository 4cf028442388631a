/**
 * Cookies whose value only the gateway can read and write: encrypted and authenticated with AES-256-GCM. A long value
 * is divided into several cookies (`session`, `session2`, …), because browsers store at most 4096 bytes in one.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Exchange, ExchangeRequest } from "../exchange/exchange.ts";

export interface CookieAttributes {
  readonly name: string;
  readonly path: string;
  readonly domain: string | null;
  /** With the value Default, the attribute is left out, and the browser decides. */
  readonly sameSite: "Strict" | "Lax" | "None" | "Default";
  /** Null: the attribute is set only if the request was made with https. */
  readonly secure: boolean | null;
  readonly httpOnly: boolean;
}

export interface SealOptions {
  /** The encryption key is derived from this secret (HKDF, RFC 5869). */
  readonly secret: string;
  /**
   * Identifies the use of the value. A cookie that was sealed with the same secret for another purpose is not accepted.
   * Everything that distinguishes two uses must be part of the purpose, such as the issuer of the tokens in a session.
   */
  readonly purpose: readonly string[];
  readonly cookie: CookieAttributes;
}

/** Maximum characters of a piece's value: browsers accept 4096 bytes for name, value and attributes together. */
const MAX_PIECE = 3800;
/** By default, a node accepts 16 KiB for all headers of a request together, so the cookie must stay well below that. */
const MAX_PIECES = 3;

const NONCE = 12;
const TAG = 16;

/** All names that a sealed cookie of this name may use. */
export const sealedCookieNames = (name: string): readonly string[] =>
  Array.from({ length: MAX_PIECES }, (_, index) => pieceName(name, index));

/**
 * The key in `exchange.shared` under which the plugin `session` reports that it uses the cookie of this name. Another
 * plugin that keeps its sessions in the same cookie would lose them.
 */
export const sessionCookieKey = (name: string): string => `session cookie ${name}`;

const pieceName = (name: string, index: number): string => (index === 0 ? name : `${name}${index + 1}`);

export class SealedCookie {
  readonly #key: Buffer;
  readonly #cookie: CookieAttributes;
  readonly #names: readonly string[];

  constructor({ secret, purpose, cookie }: SealOptions) {
    const info = JSON.stringify(["sluice cookie", cookie.name, ...purpose]);
    // `info` is passed as the salt, because a salt may have any length, whereas Node limits HKDF's own parameter `info`
    // to 1024 bytes.
    this.#key = Buffer.from(hkdfSync("sha256", secret, info, "sealed cookie", 32));
    this.#cookie = cookie;
    this.#names = sealedCookieNames(cookie.name);
  }

  /** The value of the request's cookie; null if there is none, or it was not sealed with this secret and purpose. */
  read(request: ExchangeRequest): string | null {
    const pieces = this.#piecesOf(request);
    const texts: string[] = [];
    for (const name of this.#names) {
      const piece = pieces.get(name);
      if (piece === undefined) break;
      texts.unshift((texts[0] ?? "") + piece);
    }
    // The longest text is tried first. If its last pieces are cookies that another server of the domain has set, it
    // cannot be decrypted, but a shorter text may be the sealed value.
    for (const text of texts) {
      const value = this.#open(text);
      if (value !== null) return value;
    }
    return null;
  }

  /**
   * Sets the cookie to the value. Returns false and sets nothing if the value is too long for cookies.
   *
   * @param lifetime Seconds for which the browser keeps the cookie. Null: until the browser is closed.
   */
  write(exchange: Exchange, value: string, lifetime: number | null = null): boolean {
    const text = this.#seal(value);
    const count = Math.ceil(text.length / MAX_PIECE);
    if (count > MAX_PIECES) return false;
    const sent = this.#piecesOf(exchange.request);
    for (const [index, name] of this.#names.entries()) {
      const piece = text.slice(index * MAX_PIECE, (index + 1) * MAX_PIECE);
      if (index < count) this.#set(exchange, name, lifetime === null ? piece : `${piece}; Max-Age=${lifetime}`);
      else if (sent.has(name)) this.#expire(exchange, name);
    }
    return true;
  }

  /** Deletes all pieces of this cookie that the client has sent. */
  clear(exchange: Exchange): void {
    for (const name of this.#piecesOf(exchange.request).keys()) this.#expire(exchange, name);
  }

  /** Removes all pieces from the request to the upstream, which could use them to act as the client. */
  hide(exchange: Exchange): void {
    const before = exchange.upstreamHeaderValues("cookie").join("; ");
    const kept = pairsOf(before).filter(([name]) => !this.#names.includes(name));
    if (kept.length === pairsOf(before).length) return;
    if (kept.length === 0) exchange.upstreamHeaders.remove("Cookie");
    else exchange.upstreamHeaders.set("Cookie", kept.map(([name, value]) => `${name}=${value}`).join("; "));
  }

  #piecesOf(request: ExchangeRequest): ReadonlyMap<string, string> {
    const pairs = pairsOf(request.headerValues("cookie").join("; "));
    // Of several cookies with one name, the browser sends the one with the most specific path first (RFC 6265 5.4).
    return new Map(pairs.filter(([name]) => this.#names.includes(name)).reverse());
  }

  #seal(value: string): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    return Buffer.concat([nonce, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
      "base64url",
    );
  }

  #open(text: string): string | null {
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length < NONCE + TAG) return null;
    const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, NONCE), { authTagLength: TAG });
    decipher.setAuthTag(bytes.subarray(-TAG));
    try {
      return decipher.update(bytes.subarray(NONCE, -TAG), undefined, "utf8") + decipher.final("utf8");
    } catch {
      return null;
    }
  }

  #set(exchange: Exchange, name: string, value: string): void {
    exchange.responseHeaders.append("Set-Cookie", `${name}=${value}${this.#attributes(exchange.request)}`);
  }

  #expire(exchange: Exchange, name: string): void {
    const attributes = `; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT${this.#attributes(exchange.request)}`;
    exchange.responseHeaders.append("Set-Cookie", `${name}=${attributes}`);
  }

  #attributes({ scheme }: ExchangeRequest): string {
    const { path, domain, sameSite, secure, httpOnly } = this.#cookie;
    return (
      `; Path=${path}` +
      (domain === null ? "" : `; Domain=${domain}`) +
      (sameSite === "Default" ? "" : `; SameSite=${sameSite}`) +
      ((secure ?? scheme === "https") ? "; Secure" : "") +
      (httpOnly ? "; HttpOnly" : "")
    );
  }
}

const pairsOf = (header: string): readonly (readonly [name: string, value: string])[] =>
  header.split(";").flatMap((pair) => {
    const equals = pair.indexOf("=");
    return equals < 0 ? [] : [[pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()] as const];
  });
