import assert from "node:assert/strict";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { type TestContext, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { status as grpcStatus, Server, ServerCredentials, type UntypedHandleCall } from "@grpc/grpc-js";
import protobuf from "protobufjs";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import type { ProbeRequest, ProbeResult } from "../../balance/active-checks.ts";
import { upstreamNamed } from "../../balance/testing.ts";
import { caCertificateOf } from "../../compile/testing-entities.ts";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import { createProbe } from "./probe.ts";

const [machine, named, other] = [
  await makeAuthority("machine"),
  await makeAuthority("named"),
  await makeAuthority("x"),
];
type Authority = typeof machine;
type Trust = Pick<ProbeRequest, "trustsMachine"> & { readonly authorities: readonly Authority[] | null };

const table: readonly (readonly [what: string, issuer: Authority, trust: Trust, result: ProbeResult])[] = [
  ["of the machine's CA without configured CAs", machine, { authorities: null, trustsMachine: true }, 200],
  ["of the machine's CA in addition to configured CAs", machine, { authorities: [named], trustsMachine: true }, 200],
  ["of a configured CA in addition to the machine's", named, { authorities: [named], trustsMachine: true }, 200],
  ["of neither a configured nor the machine's CA", other, { authorities: [named], trustsMachine: true }, "failed"],
  ["of the machine's CA if only others are trusted", machine, { authorities: [named], trustsMachine: false }, "failed"],
  ["of the machine's CA if no configured CA is left", machine, { authorities: [], trustsMachine: false }, "failed"],
];

for (const [what, issuer, { authorities, trustsMachine }, expected] of table) {
  test(`a check over https ${expected === 200 ? "accepts" : "refuses"} a certificate ${what}`, async (context) => {
    const before = getCACertificates("default");
    context.after(() => setDefaultCACertificates(before));
    setDefaultCACertificates([machine.certificate]);
    const { certificate: cert, key } = await issuer.issue({ name: "up", sans: ["localhost"], usage: "server" });
    const server = createServer({ cert, key }, (_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });
    const probe = createProbe({ connect: connectBehind(guard), version: "1.2.3" });
    const request = (https_sni: string | null, serverName: string | null): ProbeRequest => ({
      host: "127.0.0.1",
      port,
      checks: upstreamNamed("pool", { healthchecks: { active: { type: "https", https_sni } } }).healthchecks.active,
      hostHeader: null,
      serverName,
      certificate: null,
      authorities: authorities?.map(({ certificate }) => caCertificateOf(certificate)) ?? null,
      trustsMachine,
    });
    const { signal } = new AbortController();
    assert.equal(await probe(request("localhost", null), signal), expected);
    assert.equal(await probe(request(null, "localhost"), signal), expected);
  });
}

const { root } = protobuf.parse(`
  syntax = "proto3";
  package grpc.health.v1;
  message HealthCheckRequest { string service = 1; }
  message HealthCheckResponse {
    enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
    ServingStatus status = 1;
  }
`);
const HealthCheckRequest = root.lookupType("grpc.health.v1.HealthCheckRequest");
const HealthCheckResponse = root.lookupType("grpc.health.v1.HealthCheckResponse");

/** Longer than 127 bytes, so that its length takes two bytes in a message. */
const longName = "long.Service".padEnd(200, "x");
const statusOf: ReadonlyMap<string, "SERVING" | "NOT_SERVING"> = new Map([
  ["", "SERVING"],
  ["up.Service", "SERVING"],
  [longName, "SERVING"],
  ["down.Service", "NOT_SERVING"],
]);

/** A server with a health service. Resolves to its port. */
async function startHealthServer(context: TestContext, credentials: ServerCredentials): Promise<number> {
  const server = new Server();
  const method = {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: object) => Buffer.from(HealthCheckRequest.encode(message).finish()),
    requestDeserialize: (bytes: Buffer) =>
      HealthCheckRequest.toObject(HealthCheckRequest.decode(bytes), { defaults: true }),
    responseSerialize: (message: object) =>
      Buffer.from(HealthCheckResponse.encode(HealthCheckResponse.fromObject(message)).finish()),
    responseDeserialize: (bytes: Buffer) => HealthCheckResponse.decode(bytes),
  };
  const check = (
    { request }: { readonly request: { readonly service: string } },
    done: (error: object | null, answer?: object) => void,
  ) => {
    const status = statusOf.get(request.service);
    if (status === undefined) done({ code: grpcStatus.NOT_FOUND, details: request.service });
    else done(null, { status });
  };
  server.addService({ Check: method }, { Check: check as unknown as UntypedHandleCall });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  context.after(() => server.forceShutdown());
  return port;
}

function probeAt(port: number, active: object, members: Partial<ProbeRequest> = {}): Promise<ProbeResult> {
  const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });
  const probe = createProbe({ connect: connectBehind(guard), version: "1.2.3" });
  const request: ProbeRequest = {
    host: "127.0.0.1",
    port,
    checks: upstreamNamed("pool", { healthchecks: { active } }).healthchecks.active,
    hostHeader: "localhost",
    serverName: "localhost",
    certificate: null,
    authorities: null,
    trustsMachine: false,
    ...members,
  };
  return probe(request, new AbortController().signal);
}

const grpcTable: readonly (readonly [service: string | null, result: ProbeResult])[] = [
  [null, "serving"],
  ["up.Service", "serving"],
  [longName, "serving"],
  ["down.Service", "not serving"],
  ["other.Service", "not serving"],
];
for (const type of ["grpc", "grpcs"])
  test(`a check of type ${type} asks the health service of the target`, async (context) => {
    const { certificate, key } = await named.issue({ name: "up", sans: ["localhost"], usage: "server" });
    const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
    const secure = ServerCredentials.createSsl(null, [pair]);
    const port = await startHealthServer(context, type === "grpcs" ? secure : ServerCredentials.createInsecure());
    const trusting = ({ certificate }: Authority) => ({ authorities: [caCertificateOf(certificate)] });
    for (const [grpc_service, expected] of grpcTable)
      assert.equal(await probeAt(port, { type, grpc_service }, trusting(named)), expected, String(grpc_service));
    if (type === "grpcs") assert.equal(await probeAt(port, { type }, trusting(other)), "failed");
  });

const fixed = { te: ["gzip"], "content-type": ["text/plain"], "content-length": ["1"], "grpc-encoding": ["gzip"] };
const connectionHeaders = { "transfer-encoding": ["chunked"], "keep-alive": ["timeout=5"], upgrade: ["h2c"] };
test("a check of type grpc ignores configured headers whose values gRPC and HTTP/2 determine", async (context) => {
  const port = await startHealthServer(context, ServerCredentials.createInsecure());
  const headers = { ...fixed, ...connectionHeaders };
  assert.equal(await probeAt(port, { type: "grpc", headers }), "serving");
});

test("targets with the same address and different names are each verified by their own name", async (context) => {
  const { certificate, key } = await named.issue({ name: "up", sans: ["localhost"], usage: "server" });
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const port = await startHealthServer(context, ServerCredentials.createSsl(null, [pair]));
  const authorities = [caCertificateOf(named.certificate)];
  const results = ["localhost", "other.example"].map((serverName) =>
    probeAt(port, { type: "grpcs" }, { authorities, serverName }),
  );
  assert.deepEqual(await Promise.all(results), ["serving", "failed"]);
});

const without: readonly (readonly [what: string, start: () => TcpServer, result: ProbeResult])[] = [
  ["that is an HTTP/1.1 server", () => createPlainServer((_request, response) => response.end()), "failed"],
  ["that never answers", () => createTcpServer(), "timeout"],
];
for (const [what, start, expected] of without)
  test(`a check of type grpc of a target ${what} ends with ${expected}`, async (context) => {
    const server = start();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    assert.equal(await probeAt(port, { type: "grpc", timeout: 0.2 }), expected);
  });

test("a check of type grpc fails if the target has no health service", async (context) => {
  const server = new Server();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  context.after(() => server.forceShutdown());
  assert.equal(await probeAt(port, { type: "grpc" }), "not serving");
});
