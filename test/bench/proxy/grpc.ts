/** Unary calls of gRPC, with HTTP/2 to the client and to the upstream. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BenchReport } from "../report.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { runH2load } from "./h2load.ts";
import { envoyWith, grpcGoServer } from "./peers.ts";
import { referTo, routeAt, startSluice } from "./sluice.ts";
import type { Stage } from "./stage.ts";

const shapes = [
  { name: "64 connections with 1 stream each", connections: 64, streams: 1 },
  { name: "8 connections with 16 streams each", connections: 8, streams: 16 },
] as const;

const SERVICE = "/grpc.testing.TestService/";
const headers = { "content-type": "application/grpc", te: "trailers" };

/** A message with its prefix of five bytes. */
const framed = (message: Buffer): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

/** 100 zero bytes as the body (2) of a Payload. */
const payload = Buffer.concat([Buffer.from([0x12, 100]), Buffer.alloc(100)]);
/** SimpleRequest: response_size (2) is 100, and the payload (3). */
const request = framed(Buffer.concat([Buffer.from([0x10, 100, 0x1a, payload.length]), payload]));
/** SimpleResponse: the payload (1). */
const response = framed(Buffer.concat([Buffer.from([0x0a, payload.length]), payload]));

function startSluiceBefore(stage: Stage, server: number) {
  const service = referTo("services", "grpc");
  const route = { protocols: ["grpc", "grpcs"], strip_path: false, service };
  return startSluice(
    stage,
    {
      routes: 0,
      others: {
        services: [{ ...service, name: "grpc", protocol: "grpc", host: "127.0.0.1", port: server }],
        routes: Array.from({ length: 10 }, (_, index) =>
          routeAt(index, { ...route, ...(index === 5 && { paths: [SERVICE] }) }),
        ),
      },
    },
    { SLUICE_PROXY_HTTP2: "true" },
  );
}

export async function measureGrpc(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const server = await stage.keep(grpcGoServer(stage));
  const bodyFile = join(stage.folder, "grpc-request");
  writeFileSync(bodyFile, request);
  const proxies = {
    Envoy: await field.start("Envoy", envoyWith({ grpc: server.port })),
    sluice: await field.start("sluice", () => startSluiceBefore(stage, server.port)),
  };
  for (const [name, started] of Object.entries(proxies)) {
    if (!started) continue;
    for (const { name: shape, ...load } of shapes) {
      const url = `http://127.0.0.1:${started.port}${SERVICE}UnaryCall`;
      const { folder } = stage;
      const options = { ...load, url, headers, bodyFile, responseBytes: response.length, folder };
      const run = () => runH2load({ ...options, seconds: effort.seconds });
      field.add({ name: `${name}, ${shape}`, sample: () => sampleOf(started.process, run) });
    }
  }
  return field.report({
    title: "Unary calls of gRPC",
    method:
      "Calls with messages of 100 bytes in both directions, without TLS, with HTTP/2 to the client and to the upstream, " +
      "grpc-go's server for interoperability tests; ten routes, no plugins. h2load sends calls at full speed.",
    samples: await field.run(),
    ratios: shapes.flatMap(({ name }) => [
      { name: `CPU, ${name}, sluice / Envoy`, of: `sluice, ${name}`, to: `Envoy, ${name}`, bound: 0.8 },
      { name: `p99, ${name}, sluice / Envoy`, of: `sluice, ${name}`, to: `Envoy, ${name}`, figure: "p99" as const },
    ]),
  });
}
