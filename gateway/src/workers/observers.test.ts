import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";

test("a gateway whose access log and traces are disabled does not load the code for them", async (context) => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    resolve(specifier, from, next) {
      const resolved = next(specifier, from);
      loaded.push(resolved.url);
      return resolved;
    },
  });
  context.after(() => hooks.deregister());
  const { startGateway } = await import("../node/start-gateway.ts");
  const { defaultsOf } = await import("../settings/defaults.ts");
  const { gatewaySettings } = await import("../settings/commands/gateway.ts");
  const { pino } = await import("pino");
  const free = { host: "127.0.0.1", port: 0 };
  const settings = { ...defaultsOf(gatewaySettings), proxy: free, status: free, push: free, pushToken: "t", drain: 0 };
  const gateway = await startGateway({ settings, log: pino({ level: "silent" }) });
  await gateway.close();
  assert.ok(loaded.some((url) => url.includes("http1/listener")));
  assert.deepEqual(
    // prom-client also loads OpenTelemetry's API, which does nothing by itself.
    loaded.filter((url) => /@opentelemetry\/(?!api\/)|observability\/(access-log|tracing)\//.test(url)),
    [],
  );
});
