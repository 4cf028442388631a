/** Instances of openid-connect for its tests. */
import type { DirectResponse, PluginContext } from "@sluice/plugin-sdk";
import {
  type FakeExchange,
  type FakeExchangeOptions,
  type FakeServicesOptions,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { NOW, type StubProvider } from "../../../test/plugins/stub-openid-provider.ts";
import { openidConnect } from "./index.ts";

export interface OpenidInstance {
  /** Sends a request with this token, or a request with these options. */
  send(token: string | FakeExchangeOptions): Promise<{
    readonly exchange: FakeExchange;
    readonly answer: DirectResponse | undefined;
  }>;
  advance(milliseconds: number): void;
  readonly warnings: readonly string[];
}

/**
 * An instance for this provider. Its clock starts at `NOW`.
 *
 * @param services Default: the instance has its own counters
 */
export function instanceFor(
  { issuer }: Pick<StubProvider, "issuer">,
  config: object = {},
  services: Pick<FakeServicesOptions, "counters"> = {},
): OpenidInstance {
  let now = NOW * 1000;
  const warnings: string[] = [];
  const context: PluginContext = fakeContext({
    ...services,
    now: () => now,
    log: { info() {}, warn: (_facts, message) => void warnings.push(message), error() {} },
  });
  const phases = openidConnect.phases(
    withConfigDefaults("openid-connect", { issuer, auth_methods: ["bearer"], display_errors: true, ...config }),
    context,
  );
  return {
    async send(token) {
      const request = typeof token === "string" ? { headers: { authorization: `Bearer ${token}` } } : token;
      const exchange = fakeExchange(request);
      return { exchange, answer: await phases.access?.(exchange) };
    },
    advance(milliseconds) {
      now += milliseconds;
    },
    warnings,
  };
}
