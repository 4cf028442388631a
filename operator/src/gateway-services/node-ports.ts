/**
 * Allots a port of the nodes to each port of a Gateway. The Services of the Gateways record the ports, so that another
 * operator, or this one after a restart, allots the same ports again.
 */

export interface PortRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

interface Allotment {
  /** `namespace/name` */
  readonly gateway: string;
  /** The port of the Gateway. */
  readonly port: number;
  /** Whether the Gateway's Service has the port: from then on no other Gateway can get it. */
  readonly isRecorded: boolean;
}

export function createNodePorts({ first, last }: PortRange) {
  const allotments = new Map<number, Allotment>();
  const portsOf = new Map<string, Map<number, number>>();
  /** The Gateways that got no port, because none was free. */
  let waiting = new Set<string>();
  let next = first;

  function set(nodePort: number, allotment: Allotment): void {
    const { gateway, port } = allotment;
    allotments.set(nodePort, allotment);
    portsOf.set(gateway, (portsOf.get(gateway) ?? new Map()).set(port, nodePort));
  }

  function remove(nodePort: number): void {
    const allotment = allotments.get(nodePort);
    if (!allotment) return;
    const { gateway, port } = allotment;
    const ports = portsOf.get(gateway);
    allotments.delete(nodePort);
    ports?.delete(port);
    if (ports?.size === 0) portsOf.delete(gateway);
  }

  /**
   * The ports are given out in a circle: for a while after a Gateway is gone, connections to its Service may still reach
   * its ports, and must not reach another Gateway.
   */
  function freePort(): number | undefined {
    for (let tried = first; tried <= last; tried++) {
      const candidate = next;
      next = candidate === last ? first : candidate + 1;
      if (!allotments.has(candidate)) return candidate;
    }
    return undefined;
  }

  /** Returns the Gateways that wait for a port, unless there is still none. They wait again when they get none now. */
  function stopWaiting(): ReadonlySet<string> {
    if (waiting.size === 0 || allotments.size > last - first) return new Set();
    const woken = waiting;
    waiting = new Set();
    return woken;
  }

  return {
    /** The port of the nodes; it is allotted now if there is none yet. Undefined: no port of the range is free. */
    portOf(gateway: string, port: number): number | undefined {
      const known = portsOf.get(gateway)?.get(port);
      if (known !== undefined) return known;
      const allotted = freePort();
      if (allotted === undefined) waiting.add(gateway);
      else set(allotted, { gateway, port, isRecorded: false });
      return allotted;
    },

    /**
     * Takes over the ports that a Gateway's Service has.
     *
     * @param recorded The ports of the nodes, by the port of the Gateway.
     * @returns the Gateways whose ports have changed, and those that may get one now.
     */
    adopt(gateway: string, recorded: ReadonlyMap<number, number>): ReadonlySet<string> {
      const changed = new Set<string>();
      for (const [port, nodePort] of recorded) {
        const holder = allotments.get(nodePort);
        const present = portsOf.get(gateway)?.get(port);
        const isOwn = present === nodePort;
        const isTaken =
          !isOwn && (holder?.isRecorded || (present !== undefined && allotments.get(present)?.isRecorded));
        if (isTaken || nodePort < first || nodePort > last) continue;
        if (!isOwn) {
          for (const user of [holder?.gateway, gateway]) if (user !== undefined) changed.add(user);
          remove(nodePort);
          if (present !== undefined) remove(present);
        }
        set(nodePort, { gateway, port, isRecorded: true });
      }
      return changed.union(stopWaiting());
    },

    /**
     * Keeps only the allotted ports that belong to these ports of a Gateway, and frees its others.
     *
     * @returns the Gateways that may get one now.
     */
    retain(gateway: string, ports: ReadonlySet<number>): ReadonlySet<string> {
      for (const [port, nodePort] of [...(portsOf.get(gateway) ?? [])]) if (!ports.has(port)) remove(nodePort);
      if (ports.size === 0) waiting.delete(gateway);
      return stopWaiting();
    },
  };
}
