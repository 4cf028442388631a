/**
 * client-node's KubeConfig without the generated clients for every Kubernetes kind, which are not used here. Loading
 * them took 60 MB, and half a second of every start. client-node's config.js needs two small members of their index;
 * the hook provides only these.
 */
import { createRequire, registerHooks } from "node:module";
import type { KubeConfig } from "@kubernetes/client-node";

export type { KubeConfig };

const INDEX = "/@kubernetes/client-node/dist/gen/index.js";
const PARTS =
  'export { createConfiguration } from "./configuration.js"; export { ServerConfiguration } from "./servers.js";';

const require = createRequire(import.meta.url);

/**
 * An empty configuration. The first call loads client-node: most processes that import this package use no cluster, and
 * loading it took a tenth of a second of CPU. `require`, unlike `import()`, returns at once, so that connections can be
 * created synchronously.
 */
export function createKubeConfig(): KubeConfig {
  const hooks = registerHooks({
    load: (url, context, nextLoad) =>
      url.endsWith(INDEX) ? { format: "module", source: PARTS, shortCircuit: true } : nextLoad(url, context),
  });
  try {
    const loaded: typeof import("@kubernetes/client-node") = require("@kubernetes/client-node/dist/config.js");
    return new loaded.KubeConfig();
  } finally {
    hooks.deregister();
  }
}
