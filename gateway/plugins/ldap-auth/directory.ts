/** An LDAP directory: verifies user names and passwords by a bind, and caches the results. */
import { hash, randomBytes } from "node:crypto";
import { type ExchangeCredential, KeyedHash, LruCache, type PluginContext } from "@sluice/plugin-sdk";
import { ConnectionEnded, LdapConnection } from "./connection.ts";
import { bindRequest, INVALID_CREDENTIALS, type LdapResult } from "./messages.ts";
import type { LdapAuthConfig } from "./schema.ts";

export interface LdapLogin {
  /** Not empty. */
  readonly username: string;
  /** The bytes that the client sent, at least one: a bind without a password would succeed for any user (RFC 4513). */
  readonly password: Buffer;
}

/** The credential of a verified login, or the result of a bind that the server refused. */
export type Verification = ExchangeCredential | LdapResult;

/** Thrown if the directory does not answer validly, or too many logins are under way. The message is logged. */
export class DirectoryUnavailable extends Error {
  override readonly name = "DirectoryUnavailable";
}

/** Maximum results in one generation of the cache. The cache has two generations. */
const CACHE_SIZE = 2048;
/** Maximum concurrent binds. Each uses its own connection, and clients can send any number of passwords. */
const MAX_PENDING = 256;

const SUCCESS = 0;

interface Known {
  readonly answer: Verification;
  /** When the answer expires, in milliseconds of the node's clock. */
  readonly until: number;
}

/** The hash by which results are cached. Its key is random, so that hashes computed in advance do not match. */
const keyedHash = new KeyedHash("sha256", randomBytes(32));

export class Directory {
  readonly #config: LdapAuthConfig;
  readonly #context: PluginContext;
  readonly #known = new LruCache<Known>(CACHE_SIZE);
  readonly #pending = new Map<string, Promise<Verification>>();
  readonly #idle: LdapConnection[] = [];

  constructor(config: LdapAuthConfig, context: PluginContext) {
    this.#config = config;
    this.#context = context;
  }

  /** Verifies a login by the cache or else by a bind. Throws DirectoryUnavailable or rejects with it. */
  verify(login: LdapLogin): Verification | Promise<Verification> {
    // No user name contains the separator, so different logins never have the same key.
    const key = keyedHash.base64Of(`${login.username}\0${login.password.toString("latin1")}`);
    const known = this.#known.get(key);
    if (known !== undefined && this.#context.now() < known.until) return known.answer;
    const before = this.#pending.get(key);
    if (before !== undefined) return before;
    if (this.#pending.size >= MAX_PENDING) throw new DirectoryUnavailable("too many logins are under way");
    const asked = this.#ask(key, login).finally(() => this.#pending.delete(key));
    this.#pending.set(key, asked);
    return asked;
  }

  async #ask(key: string, { username, password }: LdapLogin): Promise<Verification> {
    const { attribute, base_dn, cache_ttl, ldap_host, ldap_port } = this.#config;
    const name = `${attribute}=${escaped(username)},${base_dn}`;
    const result = await this.#bind(name, password).catch((error: Error) => {
      throw new DirectoryUnavailable(`the LDAP server ${ldap_host}:${ldap_port} cannot be used: ${error.message}`);
    });
    const isRight = result.code === SUCCESS;
    // The id is the same on every node, so that rate limits can count requests by credential.
    const id = hash("sha256", JSON.stringify([ldap_host, ldap_port, name]));
    const answer = isRight ? { id, consumer: null } : result;
    // Results other than success and a wrong password may be temporary and are not cached.
    if (cache_ttl > 0 && (isRight || result.code === INVALID_CREDENTIALS)) {
      this.#known.set(key, { answer, until: this.#context.now() + cache_ttl * 1000 });
    }
    return answer;
  }

  async #bind(name: string, password: Buffer): Promise<LdapResult> {
    const { timeout } = this.#config;
    const request = bindRequest(name, password);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${timeout} ms`)), timeout);
    try {
      const idle = this.#takeIdle();
      if (idle !== null) {
        try {
          return this.#keep(idle, await idle.send(request, late.signal));
        } catch (error) {
          if (!(error instanceof ConnectionEnded)) throw error;
        }
      }
      const connection = await LdapConnection.open(this.#config, this.#context.network, late.signal);
      return this.#keep(connection, await connection.send(request, late.signal));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Takes the idle connection that was used last, so that the others reach their `keepalive`; null: none is open. */
  #takeIdle(): LdapConnection | null {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen) return idle;
    }
    return null;
  }

  #keep(connection: LdapConnection, result: LdapResult): LdapResult {
    connection.closeAfter(this.#config.keepalive);
    this.#idle.push(connection);
    return result;
  }
}

/**
 * A value in a distinguished name (RFC 4514 section 2.4): every byte except ASCII letters, digits and `@._-` becomes
 * `\XX`.
 */
const escaped = (value: string): string =>
  Array.from(Buffer.from(value), (byte) =>
    /[\dA-Za-z@._-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `\\${hex(byte)}`,
  ).join("");

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
