import { join } from "node:path";
import { fromGo } from "./obtain/go.ts";
import { fromModule } from "./obtain/module-file.ts";

const module = join(import.meta.dirname, "../../test/clients/gateway-api");

/** The version of the Gateway API in the module's go.mod: of its CRDs and of its conformance suite. */
export const GATEWAY_API_VERSION = "v1.6.3";

/** The conformance suite of the Gateway API, see its main.go. */
export const gatewayApiSuite = fromGo({
  name: "gateway-api-suite",
  module,
  what: `the conformance suite of the Gateway API ${GATEWAY_API_VERSION}, about 3 minutes the first time (two cores)`,
});

/** The server to which the suite's routes lead. */
export const gatewayApiEcho = fromGo({
  name: "gateway-api-echo",
  module,
  package: "sigs.k8s.io/gateway-api/conformance/echo-basic",
  what: "the echo server of the Gateway API's conformance suite, about 20 seconds",
});

const crds = (channel: "standard" | "experimental", name: string) =>
  fromModule({
    name,
    folder: module,
    module: "sigs.k8s.io/gateway-api",
    path: `config/crd/${channel}`,
    size: "about 3 MB",
  });

/** Folders with the Gateway API's CRDs of each channel (Apache-2.0). */
export const gatewayApiCrds = crds("standard", "gateway-api-crds");
export const gatewayApiExperimentalCrds = crds("experimental", "gateway-api-experimental-crds");
