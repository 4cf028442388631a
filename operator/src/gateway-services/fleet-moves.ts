/**
 * Which fleet the Service of each Gateway leads to. For a while after a Service has been led to another fleet, clients
 * may still reach the former one, because each machine of the cluster learns of it in its own time.
 */
import type { Resource } from "@sluice/crds";
import { SHARED_FLEET } from "@sluice/model";
import { FLEET_LABEL } from "./object-names.ts";

export interface FleetMovesOptions {
  /** Called with the Gateway (`namespace/name`) when its former fleet gets no more connections. */
  readonly onLeft: (gateway: string) => void;
  /** Milliseconds for which the former fleet still serves the Gateway. Default 15,000. */
  readonly delay?: number;
}

interface LeftFleet {
  readonly fleet: string;
  readonly timer: NodeJS.Timeout;
}

/** Three times the chart's default for the time in which a terminating node still accepts connections. */
const DELAY = 15_000;

const fleetIn = ({ spec = {} }: Resource): string =>
  (spec.selector as Readonly<Record<string, string>> | undefined)?.[FLEET_LABEL] ?? SHARED_FLEET;

export function createFleetMoves({ onLeft, delay = DELAY }: FleetMovesOptions) {
  const fleets = new Map<string, string>();
  const leaving = new Map<string, LeftFleet>();

  function forget(gateway: string): void {
    fleets.delete(gateway);
    clearTimeout(leaving.get(gateway)?.timer);
    leaving.delete(gateway);
  }

  return {
    /**
     * Records the Service of a Gateway (`namespace/name`); undefined: there is none. Returns whether it leads to another
     * fleet than before. After a restart of the operator, only later moves are known.
     */
    set(gateway: string, service: Resource | undefined): boolean {
      const before = fleets.get(gateway);
      if (!service) {
        forget(gateway);
        return before !== undefined;
      }
      const fleet = fleetIn(service);
      fleets.set(gateway, fleet);
      if (before === fleet) return false;
      if (before === undefined) return true;
      clearTimeout(leaving.get(gateway)?.timer);
      const timer = setTimeout(() => {
        leaving.delete(gateway);
        onLeft(gateway);
      }, delay);
      leaving.set(gateway, { fleet: before, timer: timer.unref() });
      return true;
    },
    /** The fleet to which the Gateway's Service leads; undefined: it has no Service. */
    fleetOf: (gateway: string) => fleets.get(gateway),
    /** The fleets that connections to the Gateway may reach. */
    fleetsOf(gateway: string): readonly string[] {
      const fleet = fleets.get(gateway);
      const former = leaving.get(gateway)?.fleet;
      return fleet === undefined ? [] : [...new Set([fleet, former ?? fleet])];
    },
    /** Whether connections may still reach the former fleet. */
    isLeaving: (gateway: string) => leaving.has(gateway),
  };
}
