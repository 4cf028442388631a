/** A TCP proxy that tests can cut, freeze and mend. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttableLink {
  /** The proxy's port on 127.0.0.1, which `mend` does not change. */
  readonly port: number;
  /** Closes all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Forwards no more data and closes nothing. */
  freeze(): void;
  mend(): Promise<void>;
}

export async function openLink(to: number): Promise<CuttableLink> {
  const sockets = new Set<Socket>();
  const frozen = new Set<Socket>();
  let freezing = false;
  // A peer that closes a frozen connection gets no response either.
  const allowHalfOpen = true;
  const server = createServer({ allowHalfOpen }, (near) => {
    const far = connect({ port: to, host: "127.0.0.1", allowHalfOpen });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    const pass = (from: Socket, into: Socket): void => {
      from.on("data", (data) => {
        if (!freezing && !frozen.has(from)) into.write(data);
      });
      from.on("end", () => {
        if (!freezing && !frozen.has(from)) into.end();
      });
    };
    pass(near, far);
    pass(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    async cut() {
      endAll();
      if (!server.listening) return;
      server.close();
      await once(server, "close");
    },
    freeze() {
      freezing = true;
      for (const socket of sockets) frozen.add(socket);
    },
    async mend() {
      if (freezing) endAll();
      freezing = false;
      if (server.listening) return;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
  };
}
