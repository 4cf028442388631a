/** The rig of the suites of stream listeners: backends, routes and clients for each protocol of connections. */
import { createServer, type Socket } from "node:net";
import { before, type TestContext } from "node:test";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import type { Service, SnapshotRoute } from "@sluice/model";
import { serviceNamed } from "../../../gateway/src/compile/testing-entities.ts";
import type { StreamRecord } from "../../../gateway/src/proxy/streams/stream-record.ts";
import { type KeyPair, makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";
import { dial } from "./client.ts";
import { type Engine, listen, portOf, type RigOptions, startRig } from "./proxy-rig.ts";

export type StreamRigProtocol = "tcp" | "tls" | "tls_passthrough";

export const streamRigProtocols: readonly StreamRigProtocol[] = ["tcp", "tls", "tls_passthrough"];

/** The text that a socket receives until the peer ends its side or closes. */
export const textFromStream = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    if (socket.closed) resolve("");
    let text = "";
    const end = () => resolve(text);
    socket
      .on("data", (piece: Buffer) => (text += piece))
      .once("end", end)
      .once("close", end);
  });

export async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

interface BackendOptions extends Partial<Service> {
  readonly isSecure?: boolean;
}

/** To be called in a `describe` block: the certificate is made before its tests. */
export function streamTools(engine: Engine) {
  let authority: TestAuthority;
  let pair: KeyPair;
  before(async () => {
    authority = await makeAuthority();
    pair = await authority.issue({ name: "a", sans: ["a.example", "b.example"], usage: "server" });
  });

  /** A server that answers with its name and what it gets until the client ends its side. */
  async function backend(test: TestContext, name: string, { isSecure = false, ...members }: BackendOptions = {}) {
    const serve = (socket: Socket) => {
      const received = textFromStream(socket.on("error", () => {}));
      void received.then((text) => socket.end(`${name}:${text}`));
    };
    const server = isSecure
      ? createTlsServer({ ...{ cert: pair.certificate, key: pair.key }, allowHalfOpen: true }, serve)
      : createServer({ allowHalfOpen: true }, serve);
    const port = portOf(await listen(test, server));
    return serviceNamed(name, { host: "127.0.0.1", port, protocol: "tcp", ...members });
  }

  const routeTo = (
    service: Service | null,
    protocols: readonly StreamRigProtocol[],
    members: Partial<SnapshotRoute>,
  ): Partial<SnapshotRoute> => ({
    ...{ protocols: [...protocols] as SnapshotRoute["protocols"], paths: null, service: service && { id: service.id } },
    ...members,
  });

  async function startStreams(test: TestContext, options: RigOptions) {
    const records: StreamRecord[] = [];
    const observer = { streamed: (record: StreamRecord) => void records.push(record) };
    const rig = await startRig(test, engine, {
      ...{ observer, streamListeners: ["plain", "tls"], certificates: { "a.example": pair, "b.example": pair } },
      ...options,
    });
    const [plain = 0, tls = 0] = rig.proxy.streamAddresses.map(({ port }) => port);
    return { rig, records, plain, tls };
  }

  /** What a client receives that sends a text and ends its side; "closed" if TLS fails. */
  async function answer(test: TestContext, port: number, serverName: string | null, text = "hi"): Promise<string> {
    if (serverName === null) {
      const socket = await dial(test, port);
      socket.end(text);
      return textFromStream(socket);
    }
    const socket = connectTls({ host: "127.0.0.1", port, servername: serverName, ca: authority.certificate });
    test.after(() => socket.destroy());
    const isOpen = await new Promise((resolve) => {
      socket
        .on("error", () => resolve(false))
        .once("secureConnect", () => resolve(true))
        .once("close", () => resolve(false));
    });
    if (!isOpen) return "closed";
    socket.end(text);
    return textFromStream(socket);
  }

  /** The port and the server name with which a client uses a protocol. */
  const endFor = (protocol: StreamRigProtocol, { plain, tls }: { plain: number; tls: number }) =>
    protocol === "tcp" ? ([plain, null] as const) : ([tls, "a.example"] as const);

  const membersFor = (protocol: StreamRigProtocol): Partial<SnapshotRoute> =>
    protocol === "tcp" ? { sources: [{ ip: "127.0.0.0/8", port: null }] } : { snis: ["a.example"] };

  return {
    ...{ backend, routeTo, startStreams, answer, endFor, membersFor },
    /** The certificate of the gateway and of backends, for a.example and b.example. */
    pair: () => pair,
    authority: () => authority,
  };
}
