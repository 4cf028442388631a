/**
 * client-node's KubeConfig without the generated clients for every Kubernetes kind, which are not used here. Loading
 * them took 60 MB, and half a second of every start. client-node's config.js needs two small members of their index;
 * the hook provides only these.
 */
import { registerHooks } from "node:module";
import type { KubeConfig as KubeConfigType } from "@kubernetes/client-node";

const INDEX = "/@kubernetes/client-node/dist/gen/index.js";
const PARTS =
  'export { createConfiguration } from "./configuration.js"; export { ServerConfiguration } from "./servers.js";';

const hooks = registerHooks({
  load: (url, context, nextLoad) =>
    url.endsWith(INDEX) ? { format: "module", source: PARTS, shortCircuit: true } : nextLoad(url, context),
});
const loaded = await import("@kubernetes/client-node/dist/config.js").finally(() => hooks.deregister());

export type KubeConfig = KubeConfigType;
export const KubeConfig: typeof KubeConfigType = loaded.KubeConfig;
