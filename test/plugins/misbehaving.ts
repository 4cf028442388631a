/** A plugin that does what its config says, for the tests of explanations. */
import { choice, definePlugin, integer, record } from "@sluice/plugin-sdk";

const actions = [
  "throw",
  "wait forever",
  "connect when created",
  "connect",
  "send a datagram",
  "send and ignore the error",
  "send in the phase responseHeaders",
  "replace the body",
] as const;

export const misbehaving = definePlugin({
  name: "misbehaving",
  version: "1.0.0",
  priority: 700,
  protects: false,
  schema: record(
    {
      does: choice(actions, { description: "What the plugin does." }),
      port: integer({ description: "The port of a server on this machine.", default: 1 }),
    },
    { description: "Misbehaves." },
  ),
  phases({ does, port }, { network, log }) {
    const server = { host: "127.0.0.1", port };
    const send = () =>
      network.http.send({ method: "POST", url: `http://127.0.0.1:${port}/?key=secret`, timeout: 1000 });
    if (does === "connect when created") network.connect(server);
    return {
      async access(exchange) {
        log.info("the plugin runs", {}, exchange);
        if (does === "throw") throw new Error("this plugin always fails");
        if (does === "wait forever") await new Promise(() => {});
        if (does === "connect") network.connect(server);
        if (does === "send a datagram") await network.datagrams(server).send(Buffer.from("x"));
        if (does === "send and ignore the error") await send().catch(() => undefined);
        if (does === "replace the body") exchange.replaceBody(Buffer.from("replaced"));
        return undefined;
      },
      responseHeaders() {
        if (does === "send in the phase responseHeaders") void send().catch(() => undefined);
      },
    };
  },
});

export default misbehaving;
