/** The provider of an instance: its discovery document and its keys, which are requested when they are needed. */
import { isRecord, type PluginContext } from "@sluice/plugin-sdk";
import type { ServerMetadata } from "openid-client";
import { type KeySet, readKeySet } from "./key-set.ts";
import type { OpenidConnectConfig } from "./schema.ts";

/** Maximum bytes of the discovery document, and of the key set. */
const MAX_DOCUMENT = 256 * 1024;
/** Milliseconds after which keys are requested again, so that a key that the provider has withdrawn is not used. */
const KEYS_AGE = 600_000;
/** Milliseconds between attempts while there are no keys. */
const RETRY = 1000;

export interface ProviderState {
  /** The discovery document (OpenID Connect Discovery 1.0 section 3), with the endpoints of the config. */
  readonly metadata: ServerMetadata;
  readonly keys: KeySet;
}

/** The provider cannot be asked or did not answer, or its answer is invalid. The message is for the log. */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable";
}

const WELL_KNOWN = "/.well-known/";

const withoutSlash = (text: string): string => text.replace(/\/+$/, "");

export class Provider {
  readonly #config: OpenidConnectConfig;
  readonly #context: Pick<PluginContext, "network" | "now" | "log">;
  #state: ProviderState | null = null;
  #pending: Promise<ProviderState> | null = null;
  #failure: ProviderUnavailable | null = null;
  /** Milliseconds of the node's clock when the last attempt began, and when the last successful one began. */
  #attempted = Number.NEGATIVE_INFINITY;
  #succeeded = Number.NEGATIVE_INFINITY;

  constructor(config: OpenidConnectConfig, context: Pick<PluginContext, "network" | "now" | "log">) {
    this.#config = config;
    this.#context = context;
  }

  /**
   * The known state of the provider. If there is none, the state is requested; rejects with `ProviderUnavailable` if
   * that fails.
   */
  get(): ProviderState | Promise<ProviderState> {
    const age = this.#context.now() - this.#succeeded;
    if (this.#state === null) return this.#request(RETRY);
    // The old keys stay in use while the provider does not answer.
    if (age >= KEYS_AGE) this.#request(this.#rediscovery).catch(() => {});
    return this.#state;
  }

  /**
   * The state after another request for keys, which is sent at most once per `rediscovery_lifetime`. If the request
   * fails, resolves with the known state, or rejects with `ProviderUnavailable` if there is none.
   */
  async refreshed(): Promise<ProviderState> {
    try {
      return await this.#request(this.#rediscovery);
    } catch (error) {
      if (this.#state !== null) return this.#state;
      throw error;
    }
  }

  get #rediscovery(): number {
    return this.#config.rediscovery_lifetime * 1000;
  }

  /** All callers share one attempt. During the pause after it, they get the known state, or else the last error. */
  #request(pause: number): Promise<ProviderState> {
    if (this.#pending !== null) return this.#pending;
    const now = this.#context.now();
    if (now - this.#attempted < pause) {
      if (this.#state !== null) return Promise.resolve(this.#state);
      if (this.#failure !== null) return Promise.reject(this.#failure);
    }
    this.#attempted = now;
    this.#pending = this.#discover()
      .then(
        (state) => {
          this.#succeeded = now;
          this.#failure = null;
          this.#state = state;
          return state;
        },
        (error: unknown) => {
          this.#failure = new ProviderUnavailable(error instanceof Error ? error.message : String(error));
          this.#context.log.warn(`the provider's keys cannot be read: ${this.#failure.message}`);
          throw this.#failure;
        },
      )
      .finally(() => {
        this.#pending = null;
      });
    return this.#pending;
  }

  async #discover(): Promise<ProviderState> {
    const { issuer } = this.#config;
    const document = await this.#json(
      issuer.includes(WELL_KNOWN) ? issuer : `${withoutSlash(issuer)}/.well-known/openid-configuration`,
      "the discovery document",
    );
    if (!isRecord(document) || typeof document.issuer !== "string") {
      throw new Error("the discovery document names no issuer");
    }
    this.#checkIssuer(document.issuer);
    const metadata: ServerMetadata = { ...document, ...this.#configuredEndpoints(), issuer: document.issuer };
    checkEndpoints(metadata, issuer);
    if (typeof metadata.jwks_uri !== "string") throw new Error("the discovery document has no jwks_uri");
    const keys = readKeySet(await this.#json(metadata.jwks_uri, "the key set"));
    if (keys === null) throw new Error("the key set is not a JSON Web Key Set");
    return { metadata, keys };
  }

  /** A document with another issuer could be that of another tenant, whose tokens must not be accepted. */
  #checkIssuer(found: string): void {
    const { issuer, issuers_allowed: allowed } = this.#config;
    const [configured = ""] = issuer.split(WELL_KNOWN);
    const isAllowed = allowed?.length ? allowed.includes(found) : withoutSlash(found) === withoutSlash(configured);
    if (isAllowed) return;
    throw new Error(
      `the discovery document names another issuer (${found.slice(0, 256)}): correct issuer, or set issuers_allowed`,
    );
  }

  #configuredEndpoints(): Readonly<Record<string, string>> {
    const { authorization_endpoint, token_endpoint, introspection_endpoint, end_session_endpoint } = this.#config;
    const own = { authorization_endpoint, token_endpoint, introspection_endpoint, end_session_endpoint };
    return Object.fromEntries(Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== null));
  }

  /** Requests a JSON document. Redirects are not followed: like every status other than 200, they are errors. */
  async #json(url: string, what: string): Promise<unknown> {
    const { timeout, ssl_verify: verify } = this.#config;
    const headers = { Accept: "application/json" };
    const { http } = this.#context.network;
    const { status, body } = await http.send({
      method: "GET",
      url,
      headers,
      timeout,
      verify,
      maxResponse: MAX_DOCUMENT,
    });
    if (status !== 200) throw new Error(`${what}: the provider answered with the status ${status}`);
    try {
      return JSON.parse(body.toString("utf8"));
    } catch {
      throw new Error(`${what} is not JSON`);
    }
  }
}

/** A provider with https must not send the gateway or its clients to an endpoint without https. */
function checkEndpoints(metadata: ServerMetadata, issuer: string): void {
  for (const [name, value] of Object.entries(metadata)) {
    if (!/^(?:jwks_uri|(?:authorization|token|introspection|end_session)_endpoint)$/.test(name)) continue;
    const url = typeof value === "string" ? URL.parse(value) : null;
    const isHttp = url?.protocol === "http:" && issuer.startsWith("http:");
    if (url?.protocol !== "https:" && !isHttp)
      throw new Error(`the ${name} of the discovery document or of the config is unusable`);
  }
}
