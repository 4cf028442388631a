/** CPU time of one request in a middleware, and in phases with the same effect, measured without sockets. */
import { type HeldResponse, middleware, type PluginPhases } from "@sluice/plugin-sdk";
import { fakeExchange } from "../plugins/fake-exchange.ts";

const REQUESTS = 50_000;
const WARM_UP = 5000;

const headers = { host: "a", "user-agent": "curl/8", accept: "*/*", "x-a": "1", "x-b": "2", cookie: "a=b" };
const body = Buffer.from(JSON.stringify({ text: "a".repeat(1000) }));

const held: HeldResponse = {
  status: 200,
  headers: [
    ...["Date", "Mon, 01 Jan 2024 00:00:00 GMT", "Server", "up", "Content-Type", "application/json"],
    ...["Content-Length", `${body.length}`, "Cache-Control", "no-store", "X-Up", "1"],
  ],
  hasBody: true,
  body: async () => body,
};

const changed = (text: string): string => text.replace("a", "b");

const kinds: Readonly<Record<string, PluginPhases>> = {
  "edits in phases": {
    async access(exchange) {
      exchange.upstreamHeaders.set("x-new", "1");
      return undefined;
    },
    async response(exchange) {
      exchange.responseHeaders.set("x-new", "1");
      return undefined;
    },
  },
  "edits in a middleware": middleware(async (request, next) => {
    request.headers.set("x-new", "1");
    const response = await next(request);
    response.headers.set("x-new", "1");
    return response;
  }),
  "another body in phases": {
    async response(_exchange, response) {
      const text = String(await response.body(10_000));
      return { status: response.status, keptHeaders: response.headers, body: changed(text) };
    },
  },
  "another body in a middleware": middleware(async (_request, next) => {
    const response = await next();
    return new Response(changed(await response.text()), response);
  }),
};

for (const round of [1, 2, 3])
  for (const [name, { access, response }] of Object.entries(kinds)) {
    const exchanges = Array.from({ length: WARM_UP + REQUESTS }, () => fakeExchange({ headers }));
    async function run(several: typeof exchanges): Promise<void> {
      for (const exchange of several) {
        await access?.(exchange);
        await response?.(exchange, held);
      }
    }
    await run(exchanges.splice(0, WARM_UP));
    const began = process.cpuUsage();
    await run(exchanges);
    const { user, system } = process.cpuUsage(began);
    console.log(`round ${round}, ${name}: ${((user + system) / REQUESTS).toFixed(1)} microseconds per request`);
  }
