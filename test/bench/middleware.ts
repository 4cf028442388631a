/** CPU time of one request in a middleware, and in a phase `access` with the same effect. Without sockets. */
import { type Exchange, middleware, type PluginPhases } from "@sluice/plugin-sdk";
import { fakeExchange } from "../plugins/fake-exchange.ts";

const REQUESTS = 50_000;
const WARM_UP = 5000;

const headers = { host: "a", "user-agent": "curl/8", accept: "*/*", "x-a": "1", "x-b": "2", cookie: "a=b" };

const kinds: Readonly<Record<string, PluginPhases>> = {
  access: {
    async access(exchange: Exchange) {
      exchange.upstreamHeaders.set("x-new", "1");
      return undefined;
    },
  },
  middleware: middleware((request, next) => {
    request.headers.set("x-new", "1");
    return next(request);
  }),
};

for (const round of [1, 2, 3])
  for (const [name, phases] of Object.entries(kinds)) {
    const exchanges = Array.from({ length: WARM_UP + REQUESTS }, () => fakeExchange({ headers }));
    for (const exchange of exchanges.splice(0, WARM_UP)) await phases.access?.(exchange);
    const began = process.cpuUsage();
    for (const exchange of exchanges) await phases.access?.(exchange);
    const { user, system } = process.cpuUsage(began);
    console.log(`round ${round}, ${name}: ${((user + system) / REQUESTS).toFixed(1)} microseconds per request`);
  }
