/** Custom plugins for the table of costs: each sets one header of the request and one of the response. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const facts = (name: string) => `import { definePluginFacts, record } from "@sluice/plugin-sdk";
export default definePluginFacts({
  name: "${name}",
  version: "1.0.0",
  priority: 500,
  protects: false,
  schema: record({}, { description: "Sets a header of requests and responses." }),
});
`;

const code = {
  "header-phases": `import { definePlugin, HeaderName } from "@sluice/plugin-sdk";
import facts from "./schema.ts";
const header = new HeaderName("X-New");
export default definePlugin({
  ...facts,
  phases: () => ({
    access: (exchange) => void exchange.upstreamHeaders.set(header, "1"),
    responseHeaders: (exchange) => exchange.responseHeaders.set(header, "1"),
  }),
});
`,
  "header-middleware": `import { definePlugin, middleware } from "@sluice/plugin-sdk";
import facts from "./schema.ts";
export default definePlugin({
  ...facts,
  phases: () =>
    middleware(async (request, next) => {
      request.headers.set("x-new", "1");
      const response = await next(request);
      response.headers.set("x-new", "1");
      return response;
    }),
});
`,
} as const;

export type CostPlugin = keyof typeof code;

/** Writes the plugin below the folder, and returns the setting that loads it. */
export function writePlugin(name: CostPlugin, folder: string): Readonly<Record<string, string>> {
  const place = join(folder, name);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "schema.ts"), facts(name));
  writeFileSync(join(place, "index.ts"), code[name]);
  return { SLUICE_PLUGINS: place };
}
