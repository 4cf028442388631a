/**
 * The cases of gRPC's interoperability tests ("Interoperability Test Case Descriptions" of grpc/grpc) through the proxy,
 * with gRPC's own client and server (@grpc/grpc-js). Left out are the cases with credentials of Google's cloud,
 * and those that check the compression of messages at the server: @grpc/grpc-js does not report it to handlers, and its
 * server sends no compressed messages.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  compressionAlgorithms,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import {
  echoedInHead,
  echoedInTrailers,
  type OutputRequest,
  type SimpleRequest,
  type SimpleResponse,
  startTestService,
  testService,
  zeros,
} from "./grpc-test-service.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

interface UnaryReply<Response> {
  readonly error: ServiceError | null;
  readonly value: Response | undefined;
  readonly head: Metadata | null;
  readonly trailers: Metadata;
}

function callUnary<Request, Response>(
  client: Client,
  method: Pick<MethodDefinition<Request, Response>, "path" | "requestSerialize" | "responseDeserialize">,
  request: Request,
  metadata = new Metadata(),
): Promise<UnaryReply<Response>> {
  return new Promise((resolve) => {
    let head: Metadata | null = null;
    let trailers = new Metadata();
    const { path, requestSerialize, responseDeserialize } = method;
    client
      .makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, {}, (error, value) =>
        setImmediate(() => resolve({ error, value, head, trailers })),
      )
      .on("metadata", (came: Metadata) => {
        head = came;
      })
      .on("status", ({ metadata: came }: StatusObject) => {
        trailers = came;
      });
  });
}

const largeRequest: SimpleRequest = { responseSize: 314_159, payload: zeros(271_828) };

async function callLargeUnary(client: Client): Promise<void> {
  const { error, value } = await callUnary(client, testService.UnaryCall, largeRequest);
  assert.equal(error, null);
  assert.equal(value?.payload?.body.length, 314_159);
}

type Duplex = ClientDuplexStream<OutputRequest, SimpleResponse>;

function openDuplex(client: Client, options: CallOptions = {}, metadata = new Metadata()): Duplex {
  const { path, requestSerialize, responseDeserialize } = testService.FullDuplexCall;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, options);
  return stream.on("error", () => {});
}

const ended = (stream: Duplex): Promise<StatusObject> => new Promise((resolve) => stream.once("status", resolve));

const sizeOf = ({ payload }: SimpleResponse): number => payload?.body.length ?? 0;

/** Sends messages of these sizes in one call; resolves to the sum that the server received. */
function sendSizes(client: Client, sizes: readonly number[]): Promise<number | undefined> {
  const { path, requestSerialize, responseDeserialize } = testService.StreamingInputCall;
  return new Promise((resolve, reject) => {
    const call = client.makeClientStreamRequest(path, requestSerialize, responseDeserialize, (error, value) =>
      error ? reject(error) : resolve(value?.aggregatedPayloadSize),
    );
    for (const size of sizes) call.write({ payload: zeros(size) });
    call.end();
  });
}

const requestSizes = [27_182, 8, 1828, 45_904];
const responseSizes = [31_415, 9, 2653, 58_979];
const echoedStatus = { code: status.UNKNOWN, message: "test status message" };
const unusualMessage = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";

/** By the name of the case: performs the calls, and asserts what the description demands of the client. */
const cases: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async empty_unary(client) {
    const { error, value } = await callUnary(client, testService.EmptyCall, {});
    assert.deepEqual([error, value], [null, {}]);
  },
  large_unary: callLargeUnary,
  async client_streaming(client) {
    assert.equal(await sendSizes(client, requestSizes), 74_922);
  },
  async server_streaming(client) {
    const { path, requestSerialize, responseDeserialize } = testService.StreamingOutputCall;
    const request = { responseParameters: responseSizes.map((size) => ({ size })) };
    const responses = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    assert.deepEqual((await responses.toArray()).map(sizeOf), responseSizes);
  },
  async ping_pong(client) {
    const stream = openDuplex(client);
    for (const [at, size] of requestSizes.entries()) {
      stream.write({ responseParameters: [{ size: responseSizes[at] ?? 0 }], payload: zeros(size) });
      assert.equal(sizeOf((await once(stream, "data"))[0]), responseSizes[at]);
    }
    stream.end();
    assert.equal((await ended(stream)).code, status.OK);
  },
  async empty_stream(client) {
    const stream = openDuplex(client);
    const end = ended(stream);
    stream.end();
    assert.deepEqual(await stream.toArray(), []);
    assert.equal((await end).code, status.OK);
  },
  async custom_metadata(client) {
    const metadata = new Metadata();
    metadata.set(echoedInHead, "test_initial_metadata_value");
    metadata.set(echoedInTrailers, Buffer.from("ababab", "hex"));
    const check = (head: Metadata | null, trailers: Metadata) => {
      assert.deepEqual(head?.get(echoedInHead), ["test_initial_metadata_value"]);
      assert.deepEqual(trailers.get(echoedInTrailers), [Buffer.from("ababab", "hex")]);
    };
    const { error, head, trailers } = await callUnary(client, testService.UnaryCall, largeRequest, metadata);
    assert.equal(error, null);
    check(head, trailers);
    const stream = openDuplex(client, {}, metadata);
    const [came, end] = [once(stream, "metadata"), ended(stream)];
    stream.end({ responseParameters: [{ size: 314_159 }], payload: zeros(271_828) });
    assert.deepEqual((await stream.toArray()).map(sizeOf), [314_159]);
    check((await came)[0], (await end).metadata);
  },
  async status_code_and_message(client) {
    const { error } = await callUnary(client, testService.UnaryCall, { responseStatus: echoedStatus });
    assert.deepEqual([error?.code, error?.details], [echoedStatus.code, echoedStatus.message]);
    const stream = openDuplex(client);
    const end = ended(stream);
    stream.resume().end({ responseStatus: echoedStatus });
    const { code, details } = await end;
    assert.deepEqual([code, details], [echoedStatus.code, echoedStatus.message]);
  },
  async special_status_message(client) {
    const responseStatus = { code: status.UNKNOWN, message: unusualMessage };
    const { error } = await callUnary(client, testService.UnaryCall, { responseStatus });
    assert.deepEqual([error?.code, error?.details], [status.UNKNOWN, unusualMessage]);
  },
  async unimplemented_method(client) {
    const method = { ...testService.EmptyCall, path: "/grpc.testing.TestService/UnimplementedCall" };
    assert.equal((await callUnary(client, method, {})).error?.code, status.UNIMPLEMENTED);
  },
  async unimplemented_service(client) {
    const method = { ...testService.EmptyCall, path: "/grpc.testing.UnimplementedService/UnimplementedCall" };
    assert.equal((await callUnary(client, method, {})).error?.code, status.UNIMPLEMENTED);
  },
  async cancel_after_begin(client) {
    const { path, requestSerialize, responseDeserialize } = testService.StreamingInputCall;
    const error = await new Promise<ServiceError | null>((resolve) => {
      client.makeClientStreamRequest(path, requestSerialize, responseDeserialize, resolve).cancel();
    });
    assert.equal(error?.code, status.CANCELLED);
  },
  async cancel_after_first_response(client) {
    const stream = openDuplex(client);
    stream.write({ responseParameters: [{ size: 31_415 }], payload: zeros(27_182) });
    assert.equal(sizeOf((await once(stream, "data"))[0]), 31_415);
    const end = ended(stream);
    stream.cancel();
    assert.equal((await end).code, status.CANCELLED);
  },
  // The description has 1 ms, in which the request would not reach the proxy.
  async timeout_on_sleeping_server(client) {
    const stream = openDuplex(client, { deadline: Date.now() + 50 });
    const end = ended(stream);
    stream.resume().write({ payload: zeros(27_182) });
    assert.equal((await end).code, status.DEADLINE_EXCEEDED);
  },
  // The description has 1,000 calls, which take several seconds in one process.
  async concurrent_large_unary(client) {
    await Promise.all(Array.from({ length: 100 }, () => callLargeUnary(client)));
  },
  async pick_first_unary(client) {
    const request = { responseSize: 1, payload: zeros(1), fillServerId: true };
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => callUnary(client, testService.UnaryCall, request)),
    );
    assert.deepEqual(new Set(replies.map(({ value }) => value?.serverId)), new Set(["the only server"]));
  },
};

/** Cases of a client that compresses each message, without the requests that must fail uncompressed. */
const compressedCases: typeof cases = {
  client_compressed_unary: callLargeUnary,
  async client_compressed_streaming(client) {
    assert.equal(await sendSizes(client, [27_182, 45_904]), 73_086);
  },
};

/** Starts the service and the proxy; returns a function that makes a client of the proxy. */
async function startInterop(test: TestContext, engine: Engine, secure: boolean) {
  const authority = await makeAuthority();
  const pair = await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" });
  const options: RigOptions = secure
    ? { certificates: { localhost: pair }, service: { protocol: "grpcs", tls_verify: false } }
    : { service: { protocol: "grpc" }, settings: { cleartextHttp2: true } };
  const rig = await startRig(test, engine, {
    upstream: await startTestService(test, secure ? pair : undefined),
    route: { protocols: ["grpc", "grpcs"], strip_path: false },
    ...options,
  });
  const security = secure ? credentials.createSsl(Buffer.from(authority.certificate)) : credentials.createInsecure();
  return (algorithm: compressionAlgorithms): Client =>
    new Client(`127.0.0.1:${secure ? rig.tlsPort : rig.port}`, security, {
      "grpc.default_compression_algorithm": algorithm,
      "grpc.enable_retries": 0,
      ...(secure && { "grpc.ssl_target_name_override": "localhost" }),
    });
}

export function grpcInteropSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`gRPC's interoperability cases (${engine.name})`, () => {
    for (const [transport, secure] of [
      ["without TLS", false],
      ["with TLS on both sides", true],
    ] as const) {
      it(`pass ${transport}`, async (test) => {
        const createClient = await startInterop(test, engine, secure);
        for (const [name, run] of Object.entries({ ...cases, ...compressedCases })) {
          const algorithm = name in compressedCases ? compressionAlgorithms.gzip : compressionAlgorithms.identity;
          await test.test(name, async () => {
            const client = createClient(algorithm);
            await run(client).finally(() => client.close());
          });
        }
      });
    }
  });
}
