/** The interface of `@sluice/plugin-sdk/testing`. Authors of plugins see these types. */
import type { RequestListener } from "node:http";
import type { PluginDefinition } from "@sluice/plugin-sdk";

export interface TestGatewayOptions {
  /** The plugin under test. A process can test one definition of each name. */
  readonly plugin: PluginDefinition;
  /** The config of the plugin under test, as users write it: members with a default may be left out. Default: empty. */
  readonly config?: object;
  /** Default: answers 200 with the request's method, path and headers as JSON. */
  readonly upstream?: RequestListener;
  /** Further plugins on all requests, such as `{ name: "key-auth" }`. */
  readonly plugins?: readonly { readonly name: string; readonly config?: object }[];
  readonly consumers?: readonly TestConsumer[];
  /** Unix milliseconds that `now()` of the plugin's services returns at first. Default: the time of the start. */
  readonly now?: number;
}

export interface TestConsumer {
  readonly username: string;
  /** Keys for the plugin key-auth. */
  readonly keys?: readonly string[];
  /** Credentials that the plugin under test declares. Members of `config` with a default may be left out. */
  readonly credentials?: readonly { readonly key: string; readonly config?: object }[];
}

/** A line of the gateway's log. */
export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly details: object;
}

export interface TestGateway {
  /** `http://127.0.0.1:PORT` of the proxy. */
  readonly url: string;
  readonly log: readonly LogLine[];
  /**
   * Sends a request through the proxy.
   *
   * @param path With the query, such as `/users?page=2`
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Replaces the config. Rejects if the config is invalid; the previous config then stays active. */
  configure(config: object): Promise<void>;
  /**
   * Advances the clock that `now()` of the plugin's services shows, and runs the timers of the plugin that are due.
   * Resolves when their actions have ended. A timer also runs when its time has passed in real time.
   */
  advance(milliseconds: number): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LeakOptions {
  /** Maximum number of requests. Default: 10,000. */
  readonly requests?: number;
  /** Sends one request and reads its response. Default: GET / */
  readonly send?: (gateway: TestGateway, number: number) => Promise<unknown>;
}
