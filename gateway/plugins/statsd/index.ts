import { type Datagrams, DeliveryQueue, definePlugin, type PluginContext, StreamSender } from "@sluice/plugin-sdk";
import { metricLines } from "./lines.ts";
import { type StatsdConfig, statsdFacts } from "./schema.ts";

/** Kong's timeout of TCP connections, in milliseconds. */
const TIMEOUT = 1000;
/** Milliseconds that an idle TCP connection is kept. */
const KEEP_ALIVE = 60_000;

interface Sender {
  send(lines: readonly string[]): Promise<void>;
  close(): void;
}

function tcpSender({ host, port }: StatsdConfig, { network }: PluginContext): Sender {
  const sender = new StreamSender({
    open: () => network.connect({ host, port }),
    isSecure: false,
    timeout: TIMEOUT,
    keepAlive: KEEP_ALIVE,
  });
  return { send: (lines) => sender.send(`${lines.join("\n")}\n`), close: () => sender.close() };
}

function udpSender({ host, port, udp_packet_size: size }: StatsdConfig, { network }: PluginContext): Sender {
  let datagrams: Datagrams | null = null;
  return {
    async send(lines) {
      datagrams ??= network.datagrams({ host, port });
      for (const packet of packetsOf(lines, size)) await datagrams.send(Buffer.from(packet));
    },
    close: () => datagrams?.close(),
  };
}

/** Combines lines into packets of at most this many bytes; a longer line is a packet of its own. */
function* packetsOf(lines: readonly string[], size: number): Generator<string> {
  let packet = "";
  for (const line of lines) {
    if (packet !== "" && Buffer.byteLength(packet) + 1 + Buffer.byteLength(line) > size) {
      yield packet;
      packet = "";
    }
    packet += packet === "" ? line : `\n${line}`;
  }
  if (packet !== "") yield packet;
}

/** Returns a function that tells whether a status is in one of the ranges; null: every status is. */
function statusTest(ranges: StatsdConfig["allow_status_codes"]): (status: number) => boolean {
  if (ranges === null) return () => true;
  const limits = ranges.map((range) => range.split("-").map(Number));
  return (status) => limits.some(([first = 0, last = 0]) => status >= first && status <= last);
}

export const statsd = definePlugin({
  ...statsdFacts,
  phases(config, context) {
    const sender = (config.use_tcp ? tcpSender : udpSender)(config, context);
    const queue = new DeliveryQueue({
      settings: config.queue,
      context,
      deliver: (entries) => sender.send(entries.flatMap((lines) => lines.split("\n"))),
    });
    const isCounted = statusTest(config.allow_status_codes);
    return {
      log(exchange) {
        if (!isCounted(exchange.status)) return;
        const lines = metricLines(exchange, config);
        if (lines.length > 0) queue.add(lines.join("\n"));
      },
      async stop() {
        await queue.close();
        sender.close();
      },
    };
  },
});
