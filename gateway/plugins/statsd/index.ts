import {
  DatagramQueue,
  DeliveryQueue,
  definePlugin,
  type EndedConnection,
  type Exchange,
  type PluginContext,
  StreamSender,
} from "@sluice/plugin-sdk";
import { metricLines } from "./metric-lines.ts";
import { type StatsdConfig, statsdFacts } from "./schema.ts";

/** Kong's timeout of TCP connections, in milliseconds. */
const TIMEOUT = 1000;
/** Milliseconds that an idle TCP connection is kept. */
const KEEP_ALIVE = 60_000;

/** A queue of texts, each with the lines of one request or connection. */
type LineQueue = Pick<DatagramQueue, "add" | "close">;

function tcpQueue({ host, port, queue: settings }: StatsdConfig, context: PluginContext): LineQueue {
  const sender = new StreamSender({
    open: () => context.network.connect({ host, port }),
    isSecure: false,
    timeout: TIMEOUT,
    keepAlive: KEEP_ALIVE,
  });
  const queue = new DeliveryQueue({ settings, context, deliver: (batch) => sender.send(batch.join("\n", "", "\n")) });
  return {
    add: (text) => queue.add(text),
    async close() {
      await queue.close();
      sender.close();
    },
  };
}

function udpQueue({ host, port, udp_packet_size: size, queue: settings }: StatsdConfig, context: PluginContext) {
  const datagramsOf = (texts: readonly string[]) =>
    packetsOf(
      texts.flatMap((lines) => lines.split("\n")),
      size,
    );
  return new DatagramQueue({ host, port }, context, { settings, datagramsOf });
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

/** Returns a function that tells whether a status is in one of the ranges. With null, it always returns true. */
function statusTest(ranges: StatsdConfig["allow_status_codes"]): (status: number) => boolean {
  if (ranges === null) return () => true;
  const limits = ranges.map((range) => range.split("-").map(Number));
  return (status) => limits.some(([first = 0, last = 0]) => status >= first && status <= last);
}

export const statsd = definePlugin({
  ...statsdFacts,
  phases(config, context) {
    const queue: LineQueue = (config.use_tcp ? tcpQueue : udpQueue)(config, context);
    const isCounted = statusTest(config.allow_status_codes);
    function send(measured: Exchange | EndedConnection): void {
      if (!isCounted(measured.status)) return;
      const lines = metricLines(measured, config);
      if (lines.length > 0) queue.add(lines.join("\n"));
    }
    return {
      log: send,
      connectionLog: send,
      stop: () => queue.close(),
    };
  },
});
