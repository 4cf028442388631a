/**
 * The service of gRPC's interoperability tests (package grpc.testing, in src/proto/grpc/testing of github.com/grpc/grpc):
 * its messages and methods, as far as the tested cases use them, and a server on @grpc/grpc-js.
 */
import type { TestContext } from "node:test";
import {
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";

export interface Payload {
  readonly body: Buffer;
}

interface EchoStatus {
  readonly code: number;
  readonly message: string;
}

export interface SimpleRequest {
  readonly responseSize?: number;
  readonly payload?: Payload;
  readonly responseStatus?: EchoStatus;
  readonly fillServerId?: boolean;
}

export interface SimpleResponse {
  readonly payload?: Payload;
  readonly serverId?: string;
}

export interface OutputRequest {
  readonly responseParameters?: readonly { readonly size: number }[];
  readonly payload?: Payload;
  readonly responseStatus?: EchoStatus;
}

type Empty = Readonly<Record<string, never>>;

const field = (id: number, type: string) => ({ id, type });
const list = (id: number, type: string) => ({ id, type, rule: "repeated" });
const method = (requestType: string, responseType: string) => ({ requestType, responseType, comment: "" });
const output = ["StreamingOutputCallRequest", "StreamingOutputCallResponse"] as const;
const empty = { fields: {} };

/** Field numbers as in empty.proto and messages.proto; methods as in test.proto. */
const definition = fromJSON({
  nested: {
    grpc: {
      nested: {
        testing: {
          nested: {
            Empty: empty,
            Payload: { fields: { body: field(2, "bytes") } },
            EchoStatus: { fields: { code: field(1, "int32"), message: field(2, "string") } },
            SimpleRequest: {
              fields: {
                responseSize: field(2, "int32"),
                payload: field(3, "Payload"),
                responseStatus: field(7, "EchoStatus"),
                fillServerId: field(9, "bool"),
              },
            },
            SimpleResponse: { fields: { payload: field(1, "Payload"), serverId: field(4, "string") } },
            StreamingInputCallRequest: { fields: { payload: field(1, "Payload") } },
            StreamingInputCallResponse: { fields: { aggregatedPayloadSize: field(1, "int32") } },
            ResponseParameters: { fields: { size: field(1, "int32") } },
            StreamingOutputCallRequest: {
              fields: {
                responseParameters: list(2, "ResponseParameters"),
                payload: field(3, "Payload"),
                responseStatus: field(7, "EchoStatus"),
              },
            },
            StreamingOutputCallResponse: { fields: { payload: field(1, "Payload") } },
            TestService: {
              methods: {
                EmptyCall: method("Empty", "Empty"),
                UnaryCall: method("SimpleRequest", "SimpleResponse"),
                StreamingInputCall: {
                  ...method("StreamingInputCallRequest", "StreamingInputCallResponse"),
                  requestStream: true,
                },
                StreamingOutputCall: { ...method(...output), responseStream: true },
                FullDuplexCall: { ...method(...output), requestStream: true, responseStream: true },
              },
            },
          },
        },
      },
    },
  },
});

/** The methods, with the types that `definition` declares for them. */
export const testService = definition["grpc.testing.TestService"] as unknown as {
  readonly EmptyCall: MethodDefinition<Empty, Empty>;
  readonly UnaryCall: MethodDefinition<SimpleRequest, SimpleResponse>;
  readonly StreamingInputCall: MethodDefinition<
    { readonly payload: Payload },
    { readonly aggregatedPayloadSize: number }
  >;
  readonly StreamingOutputCall: MethodDefinition<OutputRequest, SimpleResponse>;
  readonly FullDuplexCall: MethodDefinition<OutputRequest, SimpleResponse>;
};

/** Names of the metadata that the server echoes in the head and in the trailers. */
export const echoedInHead = "x-grpc-test-echo-initial";
export const echoedInTrailers = "x-grpc-test-echo-trailing-bin";

export const zeros = (size: number): Payload => ({ body: Buffer.alloc(size) });

interface AnyServerCall {
  readonly metadata: Metadata;
  sendMetadata(metadata: Metadata): void;
}

/** Sends the metadata of the head; returns that of the trailers. */
function echoMetadata(call: AnyServerCall): Metadata {
  const [head, trailers] = [new Metadata(), new Metadata()];
  for (const value of call.metadata.get(echoedInHead)) head.add(echoedInHead, value);
  for (const value of call.metadata.get(echoedInTrailers)) trailers.add(echoedInTrailers, value);
  call.sendMetadata(head);
  return trailers;
}

const handlers = {
  EmptyCall: ((_call, done) => done(null, {})) satisfies handleUnaryCall<Empty, Empty>,
  UnaryCall: ((call, done) => {
    const { responseSize = 0, responseStatus, fillServerId } = call.request;
    const trailers = echoMetadata(call);
    if (responseStatus?.code) {
      done({ code: responseStatus.code, details: responseStatus.message }, null, trailers);
    } else {
      done(null, { payload: zeros(responseSize), ...(fillServerId && { serverId: "the only server" }) }, trailers);
    }
  }) satisfies handleUnaryCall<SimpleRequest, SimpleResponse>,
  StreamingInputCall(
    call: ServerReadableStream<{ readonly payload: Payload }, { readonly aggregatedPayloadSize: number }>,
    done: sendUnaryData<{ readonly aggregatedPayloadSize: number }>,
  ): void {
    let aggregatedPayloadSize = 0;
    call.on("data", ({ payload }: { readonly payload: Payload }) => {
      aggregatedPayloadSize += payload.body.length;
    });
    call.on("error", () => {});
    call.on("end", () => done(null, { aggregatedPayloadSize }));
  },
  StreamingOutputCall(call: ServerWritableStream<OutputRequest, SimpleResponse>): void {
    for (const { size } of call.request.responseParameters ?? []) call.write({ payload: zeros(size) });
    call.end();
  },
  FullDuplexCall(call: ServerDuplexStream<OutputRequest, SimpleResponse>): void {
    const trailers = echoMetadata(call);
    call.on("error", () => {});
    call.on("data", ({ responseParameters = [], responseStatus }: OutputRequest) => {
      if (responseStatus?.code) {
        call.emit("error", { code: responseStatus.code, details: responseStatus.message, metadata: trailers });
        return;
      }
      for (const { size } of responseParameters) call.write({ payload: zeros(size) });
    });
    call.on("end", () => call.end(trailers));
  },
};

/** Starts the server on a free port of 127.0.0.1, and resolves to the port. */
export async function startTestService(
  test: TestContext,
  tls?: { readonly certificate: string; readonly key: string },
) {
  const server = new Server();
  server.addService(testService as unknown as ServiceDefinition, handlers);
  const pair = tls && { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) };
  const encryption = pair ? ServerCredentials.createSsl(null, [pair]) : ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", encryption, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  test.after(() => server.forceShutdown());
  return port;
}
