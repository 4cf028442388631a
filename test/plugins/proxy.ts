/** The real proxy with a plugin that comes with Sluice. Its default upstream returns the request as JSON. */
import type { TestContext } from "node:test";
import { definePlugin, record } from "@sluice/plugin-sdk";
import { startTestGateway } from "../../gateway/src/plugin-harness/index.ts";
import type { TestGateway, TestGatewayOptions } from "../../gateway/src/plugin-harness/types.ts";

/** The harness requires a plugin that does not come with Sluice. This one does nothing. */
const bystander = definePlugin({
  name: "bystander",
  version: "0.1.0",
  priority: 1,
  protects: false,
  schema: record({}, { description: "Does nothing." }),
  phases: () => ({}),
});

/** @param options Default: a consumer alice without keys, and no further plugins. */
export async function startProxyWith(
  test: Pick<TestContext, "after">,
  plugin: { readonly name: string; readonly config: object },
  { plugins = [], ...options }: Pick<TestGatewayOptions, "plugins" | "consumers" | "upstream"> = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    consumers: [{ username: "alice" }],
    ...options,
    plugin: bystander,
    plugins: [plugin, ...plugins],
  });
  test.after(() => gateway.close());
  return gateway;
}
