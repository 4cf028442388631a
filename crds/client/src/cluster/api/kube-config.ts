/**
 * client-node's KubeConfig without the clients that are generated for every kind of Kubernetes, which nobody here calls:
 * loading them took 60 MB, a fifth of what the operator may take, and half a second of every start. Its config.js asks
 * their index for two small things, and gets these alone.
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
