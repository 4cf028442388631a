/** HTTP/2 upstreams that send frames by a script. */
import type { TestContext } from "node:test";
import { block, type FrameClient, frame, frameBytes, frameFlags, startFrameUpstream } from "./http2-frames.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const MOST_STREAMS = 3;
const INITIAL_WINDOW = 4;
const { endStream, endHeaders } = frameFlags;
const [REFUSED_STREAM, CANCEL] = [7, 8] as const;

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const settings = (...pairs: readonly (readonly [id: number, value: number])[]) =>
  frameBytes(
    frame.settings,
    0,
    0,
    Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), word(value)]))),
  );
type Fields = Parameters<typeof block>[0];
const head = (stream: number, fields: Fields, flags: number = endHeaders) =>
  frameBytes(frame.headers, flags, stream, block(fields));
const data = (stream: number, text: string, flags: number = endStream) =>
  frameBytes(frame.data, flags, stream, Buffer.from(text));
const reset = (stream: number, code: number) => frameBytes(frame.reset, 0, stream, word(code));
const goAway = (lastStream: number, code = 0) =>
  frameBytes(frame.goAway, 0, 0, Buffer.concat([word(lastStream), word(code)]));
const ok: Fields = [[":status", "200"]];
const answer = (stream: number) => Buffer.concat([head(stream, ok), data(stream, "ok")]);
const isHead = (stream?: number) => (found: { readonly type: number; readonly stream: number }) =>
  found.type === frame.headers && (stream === undefined || found.stream === stream);

const service: RigOptions["service"] = { retries: 0, _sluice: { http2: true } };

/** Sends settings, and the script's frames when the first request has arrived. */
const replying =
  (...sent: readonly Buffer[]) =>
  async (client: FrameClient): Promise<void> => {
    client.send(settings());
    await client.until(isHead());
    client.send(...sent);
  };

async function startScripted(
  test: TestContext,
  engine: Engine,
  serve: (client: FrameClient, connection: number) => Promise<void>,
  options: RigOptions = {},
) {
  let connections = 0;
  const upstream = await startFrameUpstream(test, (client) => {
    connections++;
    // The proxy may close the connection before the script has ended.
    serve(client, connections).catch(() => {});
  });
  return startRig(test, engine, { upstream, ...options, service: { ...service, ...options.service } });
}

/** The frames of scripts, and rigs with such upstreams. */
export const scripted = {
  ...{ settings, head, data, reset, goAway, word, ok, answer, isHead, replying, startScripted },
  ...{ MOST_STREAMS, INITIAL_WINDOW, REFUSED_STREAM, CANCEL },
};
