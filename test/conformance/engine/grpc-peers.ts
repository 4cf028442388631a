/** gRPC's own client and server (@grpc/grpc-js) through the proxy. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import {
  Client,
  credentials,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { signal } from "./client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const same = (bytes: Buffer): Buffer => bytes;
const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  ...{ path: `/test.Echo/${name}`, requestStream, responseStream },
  ...{ requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same },
});
export const echoService = {
  One: method("One", false, false),
  Many: method("Many", false, true),
  Sum: method("Sum", true, false),
  Talk: method("Talk", true, true),
} satisfies ServiceDefinition;

export async function startGrpcServer(test: TestContext, handlers: EchoHandlers): Promise<number> {
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  server.addService(echoService, handlers);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  test.after(() => server.forceShutdown());
  return port;
}

export interface EchoHandlers extends UntypedServiceImplementation {
  readonly One: handleUnaryCall<Buffer, Buffer>;
  readonly Many: handleServerStreamingCall<Buffer, Buffer>;
  readonly Sum: handleClientStreamingCall<Buffer, Buffer>;
  readonly Talk: handleBidiStreamingCall<Buffer, Buffer>;
}

export const echoHandlers: EchoHandlers = {
  One(call, done) {
    const trailer = new Metadata();
    trailer.set("x-end", "here");
    trailer.set("proof-bin", Buffer.from([0, 255]));
    call.sendMetadata(call.metadata);
    if (call.request.length === 0) done({ code: status.NOT_FOUND, details: "Straße nicht gefunden" }, null, trailer);
    else done(null, call.request, trailer);
  },
  Many(call) {
    for (let count = 0; count < 100; count++) call.write(Buffer.from(`${call.request} ${count}`));
    call.end();
  },
  Sum(call, done) {
    let sum = 0;
    call.on("data", (piece: Buffer) => {
      sum += Number(piece);
    });
    call.on("end", () => done(null, Buffer.from(`${sum}`)));
  },
  Talk(call) {
    call.on("data", (piece: Buffer) => call.write(piece)).on("end", () => call.end());
  },
};

async function startClient(test: TestContext, engine: Engine, given: EchoHandlers, options: RigOptions = {}) {
  const rig = await startRig(test, engine, {
    upstream: await startGrpcServer(test, given),
    service: { protocol: "grpc" },
    route: { protocols: ["grpc", "grpcs"], strip_path: false, paths: ["/test.Echo/"] },
    settings: { cleartextHttp2: true },
    ...options,
  });
  return { rig, client: clientOf(test, rig.port) };
}

function clientOf(test: TestContext, port: number): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.enable_retries": 0,
  });
  test.after(() => client.close());
  return client;
}

interface Reply {
  readonly error: ServiceError | null;
  readonly value: Buffer | undefined;
  readonly head: Metadata | null;
  readonly trailer: Metadata | null;
}

function callOne(
  client: Client,
  content: string | Buffer,
  metadata = new Metadata(),
  path = echoService.One.path,
): Promise<Reply> {
  return new Promise((resolve) => {
    let head: Metadata | null = null;
    let reply: Pick<Reply, "error" | "value"> = { error: null, value: undefined };
    const call = client.makeUnaryRequest(path, same, same, Buffer.from(content), metadata, {}, (error, value) => {
      reply = { error, value };
    });
    call.on("metadata", (came: Metadata) => {
      head = came;
    });
    call.on("status", ({ metadata: trailer }) => setImmediate(() => resolve({ ...reply, head, trailer })));
  });
}

export function grpcPeerSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`gRPC's own client and server (${engine.name})`, () => {
    it("exchange metadata in heads and trailers", async (test) => {
      const { client } = await startClient(test, engine, echoHandlers);
      const metadata = new Metadata();
      metadata.set("x-word", "yes");
      metadata.set("key-bin", Buffer.from([1, 2, 250]));
      const { error, value, head, trailer } = await callOne(client, "hello", metadata);
      assert.equal(error, null);
      assert.equal(value?.toString(), "hello");
      assert.deepEqual(head?.get("x-word"), ["yes"]);
      assert.deepEqual(head?.get("key-bin"), [Buffer.from([1, 2, 250])]);
      assert.deepEqual(trailer?.get("x-end"), ["here"]);
      assert.deepEqual(trailer?.get("proof-bin"), [Buffer.from([0, 255])]);
    });

    it("exchange errors with their details and trailers", async (test) => {
      const { client } = await startClient(test, engine, echoHandlers);
      const { error, trailer } = await callOne(client, "");
      assert.deepEqual([error?.code, error?.details], [status.NOT_FOUND, "Straße nicht gefunden"]);
      assert.deepEqual(trailer?.get("x-end"), ["here"]);
    });

    it("understand errors of the gateway itself", async (test) => {
      const { rig, client } = await startClient(test, engine, echoHandlers, {
        plugins: { cors: { access: () => ({ status: 429, message: "API rate limit exceeded: wait 5 s" }) } },
      });
      const limited = await callOne(client, "x");
      assert.deepEqual(
        [limited.error?.code, limited.error?.details],
        [status.UNAVAILABLE, "API rate limit exceeded: wait 5 s"],
      );
      const none = await callOne(client, "x", undefined, "/other.Service/One");
      assert.deepEqual(
        [none.error?.code, none.error?.details],
        [status.UNIMPLEMENTED, "no Route matched with those values"],
      );
      assert.ok(rig.port > 0);
    });

    it("stream from the server, from the client, and both ways", async (test) => {
      const { client } = await startClient(test, engine, echoHandlers);
      const words: string[] = [];
      const many = client.makeServerStreamRequest(echoService.Many.path, same, same, Buffer.from("word"));
      many.on("data", (piece: Buffer) => words.push(piece.toString()));
      await once(many, "end");
      assert.deepEqual([words.length, words[99]], [100, "word 99"]);

      const summed = signal<Buffer | undefined>();
      const sum = client.makeClientStreamRequest(echoService.Sum.path, same, same, (_error, value) =>
        summed.fire(value),
      );
      for (let number = 1; number <= 100; number++) sum.write(Buffer.from(`${number}`));
      sum.end();
      assert.equal((await summed.seen)?.toString(), "5050");

      const talk = client.makeBidiStreamRequest(echoService.Talk.path, same, same);
      for (const word of ["one", "two", "three"]) {
        talk.write(Buffer.from(word));
        assert.equal(String((await once(talk, "data"))[0]), word);
      }
      const ended = once(talk, "status");
      talk.resume().end();
      assert.equal((await ended)[0].code, status.OK);
    });

    it("exchange large messages, and perform many concurrent calls", async (test) => {
      const { client } = await startClient(test, engine, echoHandlers);
      const large = Buffer.alloc(8 * 1024 * 1024, "abc");
      assert.ok((await callOne(client, large)).value?.equals(large));
      const replies = await Promise.all(Array.from({ length: 200 }, (_, index) => callOne(client, `${index}`)));
      assert.deepEqual(
        replies.map(({ value }) => value?.toString()),
        replies.map((_, index) => `${index}`),
      );
    });

    it("pass a deadline and a cancellation to the server", async (test) => {
      const [deadline, cancelled, began] = [signal<unknown>(), signal(), signal()];
      const { client } = await startClient(test, engine, {
        ...echoHandlers,
        One(call) {
          deadline.fire(call.getDeadline());
        },
        Talk(call) {
          call.on("cancelled", () => cancelled.fire()).on("error", () => {});
          call.resume();
          began.fire();
        },
      });
      const late = signal<ServiceError | null>();
      client.makeUnaryRequest(
        echoService.One.path,
        same,
        same,
        Buffer.from("x"),
        { deadline: Date.now() + 1000 },
        (error) => late.fire(error),
      );
      assert.ok(Number(await deadline.seen) < Date.now() + 2000);
      assert.equal((await late.seen)?.code, status.DEADLINE_EXCEEDED);
      const talk = client.makeBidiStreamRequest(echoService.Talk.path, same, same);
      talk.on("error", () => {}).write(Buffer.from("x"));
      await began.seen;
      talk.cancel();
      await cancelled.seen;
    });

    it("complete calls in flight during a drain, and get UNAVAILABLE for later calls", async (test) => {
      const [reached, goOn] = [signal(), signal()];
      const { rig, client } = await startClient(test, engine, {
        ...echoHandlers,
        async One(call, done) {
          reached.fire();
          await goOn.seen;
          done(null, call.request);
        },
      });
      const call = callOne(client, "kept");
      await reached.seen;
      const drained = rig.proxy.close({ deadline: 10_000 });
      goOn.fire();
      assert.equal((await call).value?.toString(), "kept");
      await drained;
      assert.equal((await callOne(client, "late")).error?.code, status.UNAVAILABLE);
    });

    it("communicate when the client uses TLS", async (test) => {
      const authority = await makeAuthority();
      const pair = await authority.issue({ name: "a.example", sans: ["a.example"], usage: "server" });
      const { rig } = await startClient(test, engine, echoHandlers, { certificates: { "a.example": pair } });
      const client = new Client(`127.0.0.1:${rig.tlsPort}`, credentials.createSsl(Buffer.from(authority.certificate)), {
        "grpc.ssl_target_name_override": "a.example",
      });
      test.after(() => client.close());
      assert.equal((await callOne(client, "hello")).value?.toString(), "hello");
    });
  });
}
