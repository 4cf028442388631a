/** A relay in front of a node's listener for peers. While it is cut, it holds back everything, like a network that fails. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The two ends of a relayed connection. */
type Ends = readonly [accepted: Socket, opened: Socket];

export class PeerRelay {
  readonly #server: Server;
  readonly #connections = new Set<Ends>();
  #isCut = false;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#server = createServer({ allowHalfOpen: true }, (accepted) => {
      const ends: Ends = [accepted, connect({ ...target, allowHalfOpen: true })];
      this.#connections.add(ends);
      for (const [at, end] of ends.entries()) {
        const other = ends[1 - at] as Socket;
        end.on("error", () => undefined);
        end.on("data", (piece: Buffer) => other.write(piece));
        end.on("end", () => other.end());
        end.on("close", () => {
          other.destroy();
          this.#connections.delete(ends);
        });
        if (this.#isCut) end.pause();
      }
    });
  }

  /** @param target The address of the node's listener, `host:port` */
  static async open(target: string): Promise<PeerRelay> {
    const [host = "", port] = target.split(":");
    const relay = new PeerRelay({ host, port: Number(port) });
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const end of [...this.#connections].flat()) end.pause();
  }

  /** Delivers what was held back. */
  heal(): void {
    this.#isCut = false;
    for (const end of [...this.#connections].flat()) end.resume();
  }

  close(): void {
    this.#server.close();
    for (const end of [...this.#connections].flat()) end.destroy();
  }
}
