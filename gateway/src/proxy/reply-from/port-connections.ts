/** The connections to ports of the document, which Node's server can only drain together with all others. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { documentPortOf } from "../client/open-connection.ts";

interface PortConnection {
  readonly port: number;
  /** Requests whose responses are incomplete. */
  requests: number;
  isDraining: boolean;
}

export class PortConnections {
  readonly #connections = new Map<Socket, PortConnection>();

  /** Ignores connections to other ports. */
  add(socket: Socket): void {
    const port = documentPortOf(socket);
    if (port === null || socket.destroyed) return;
    this.#connections.set(socket, { port, requests: 0, isDraining: false });
    socket.once("close", () => this.#connections.delete(socket));
  }

  began(socket: Socket, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.requests++;
    response.once("close", () => {
      connection.requests--;
      // The head of this response may have promised that the connection stays open.
      if (connection.isDraining && connection.requests === 0) socket.destroySoon();
    });
  }

  /** A tunnel stays open until it is destroyed. */
  becameTunnel(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) connection.requests++;
  }

  isDraining(socket: Socket): boolean {
    return this.#connections.get(socket)?.isDraining === true;
  }

  /** Closes the connections to a port after their responses. Returns a function that destroys those that are left. */
  drain(port: number): () => void {
    const drained = [...this.#connections].filter(([, connection]) => connection.port === port);
    for (const [socket, connection] of drained) {
      connection.isDraining = true;
      if (connection.requests === 0) socket.destroySoon();
    }
    return () => {
      for (const [socket] of drained) socket.destroy();
    };
  }
}
