/** A plugin that does what its config says, for the tests of explanations. */
import {
  choice,
  definePlugin,
  type Exchange,
  integer,
  type PluginContext,
  type PluginPhases,
  record,
} from "@sluice/plugin-sdk";

const actions = [
  "throw",
  "wait forever",
  "connect when created",
  "connect",
  "connect later",
  "send a datagram",
  "send and ignore the error",
  "send in the phase responseHeaders",
  "replace the body",
] as const;

/** An instance of a class, because phases may use `this`. */
class Misbehaving implements PluginPhases {
  readonly #does: (typeof actions)[number];
  readonly #server: { readonly host: string; readonly port: number };
  readonly #context: PluginContext;

  constructor(does: (typeof actions)[number], port: number, context: PluginContext) {
    this.#does = does;
    this.#server = { host: "127.0.0.1", port };
    this.#context = context;
    if (does === "connect when created") this.#connect();
  }

  async access(exchange: Exchange): Promise<undefined> {
    const { log, network } = this.#context;
    log.info("the plugin runs", {}, exchange);
    if (this.#does === "throw") throw new Error("this plugin always fails");
    if (this.#does === "wait forever") await new Promise(() => {});
    if (this.#does === "connect") this.#connect();
    // Node calls this callback, so an error of `#connect` ends the process: that is the misbehaviour.
    if (this.#does === "connect later") setImmediate(() => this.#connect());
    if (this.#does === "connect later") await new Promise(setImmediate);
    if (this.#does === "send a datagram") await network.datagrams(this.#server).send(Buffer.from("x"));
    if (this.#does === "send and ignore the error") await this.#send().catch(() => undefined);
    if (this.#does === "replace the body") exchange.replaceBody(Buffer.from("replaced"));
  }

  responseHeaders(): void {
    if (this.#does === "send in the phase responseHeaders") void this.#send().catch(() => undefined);
  }

  #connect(): void {
    this.#context.network.connect(this.#server).on("error", () => {});
  }

  #send() {
    const url = `http://127.0.0.1:${this.#server.port}/?key=secret`;
    return this.#context.network.http.send({ method: "POST", url, timeout: 1000 });
  }
}

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
  phases: ({ does, port }, context) => new Misbehaving(does, port, context),
});

export default misbehaving;
