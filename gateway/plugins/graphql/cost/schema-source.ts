/** Where the schema of a service comes from: the config, or the service itself, which is asked again from time to time. */
import { hash } from "node:crypto";
import { headerValue, type PluginContext } from "@sluice/plugin-sdk";
import { introspectionQuery, readIntrospection } from "./introspection.ts";
import { noSchema, readServiceSchema, type ServiceSchema, withDefinitions } from "./service-schema.ts";

/** Maximum bytes of the response to an introspection query. */
const MAX_RESPONSE = 4 * 1024 * 1024;
/** Milliseconds between attempts after one has failed. */
const RETRY = 5000;

interface SchemaOptions {
  /** Whether requests need the schema: if false, they never wait for it. */
  readonly enforce: boolean;
  /** Definitions in the schema definition language; null: none. With `introspect`, they refine the service's schema. */
  readonly schema: string | null;
  readonly introspect: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>> | null;
    /** Seconds after which the service is asked again. */
    readonly ttl: number;
    /** Milliseconds. */
    readonly timeout: number;
    readonly tls_verify: boolean;
  } | null;
}

export class SchemaSource {
  readonly #introspect: SchemaOptions["introspect"];
  /** Whether requests wait for an attempt: only for the first, so that a service that does not answer delays no others. */
  #isAwaited: boolean;
  readonly #own: ServiceSchema;
  readonly #context: Pick<PluginContext, "network" | "now" | "log">;
  /** Null: the service has not answered yet. */
  #schema: ServiceSchema | null;
  /** The SHA-256 of the last response, so that an unchanged schema stays the same object. */
  #digest = "";
  #pending: Promise<void> | null = null;
  /** Milliseconds of the node's clock before which the service is not asked again. */
  #resting = Number.NEGATIVE_INFINITY;

  constructor({ schema, introspect, enforce }: SchemaOptions, context: Pick<PluginContext, "network" | "now" | "log">) {
    this.#introspect = introspect;
    this.#isAwaited = enforce;
    this.#own = schema === null ? noSchema : readServiceSchema(schema);
    this.#context = context;
    this.#schema = introspect === null ? this.#own : null;
  }

  /**
   * The schema: the same object until it changes. A promise during the first attempt to read it, if requests need it;
   * null: it is not known. A known schema stays in use while the service does not answer.
   */
  get(): ServiceSchema | null | Promise<ServiceSchema | null> {
    if (this.#introspect === null) return this.#schema;
    const asked = this.#ask(this.#introspect);
    return this.#schema ?? (asked === null || !this.#isAwaited ? null : asked.then(() => this.#schema));
  }

  /** Asks the service if it is time to. All callers share one request. Null: nothing is asked now. */
  #ask(introspect: NonNullable<SchemaOptions["introspect"]>): Promise<void> | null {
    const now = this.#context.now();
    if (this.#pending !== null || now < this.#resting) return this.#pending;
    this.#pending = this.#read(introspect).then(
      () => {
        this.#pending = null;
        this.#resting = now + introspect.ttl * 1000;
      },
      (error: unknown) => {
        this.#pending = null;
        this.#isAwaited = false;
        this.#resting = this.#context.now() + RETRY;
        const reason = error instanceof Error ? error.message : String(error);
        const effect = this.#schema === null ? "so requests are refused" : "so the known one stays in use";
        this.#context.log.warn(`the schema of the service cannot be read, ${effect}: ${reason}`);
      },
    );
    return this.#pending;
  }

  async #read({ url, headers, timeout, tls_verify: verify }: NonNullable<SchemaOptions["introspect"]>): Promise<void> {
    const given = Object.entries(headers ?? {}).map(
      ([name, value]) => [name.toLowerCase(), headerValue(value)] as const,
    );
    const { status, body } = await this.#context.network.http.send({
      url,
      method: "POST",
      headers: { accept: "application/json", ...Object.fromEntries(given), "content-type": "application/json" },
      body: JSON.stringify({ query: introspectionQuery, operationName: "SluiceSchema" }),
      timeout,
      verify,
      maxResponse: MAX_RESPONSE,
    });
    if (status !== 200) throw new Error(`the service answered with the status ${status}`);
    const digest = hash("sha256", body);
    if (digest === this.#digest) return;
    this.#schema = withDefinitions(readIntrospection(parsed(body)), this.#own);
    this.#digest = digest;
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new Error("the response is not JSON");
  }
}
