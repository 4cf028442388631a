/** The suite of engines with the fallbacks for internals of Node. */
import { registerHooks } from "node:module";
import { describe } from "node:test";

/** The exports of node-internals.ts in a version of Node that has none of these members. */
const source = `
  export const setOnRead = () => false;
  export const separatesSessions = false;
  export const setSessionIdContext = () => undefined;
  export const receiveEncrypted = () => false;
`;

registerHooks({
  load(url, context, next) {
    const isReplaced = url.endsWith("/gateway/src/proxy/sockets/node-internals.ts");
    return isReplaced ? { format: "module", source, shortCircuit: true } : next(url, context);
  },
});
const { createHttp1Proxy } = await import("../../../gateway/src/proxy/http1/listener.ts");
const { engineSuite } = await import("../../conformance/engine/suite.ts");

describe("without internals of Node", () => engineSuite({ name: "http1", createProxy: createHttp1Proxy }));
