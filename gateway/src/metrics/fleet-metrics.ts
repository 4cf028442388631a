/** The metrics of limits with policy fleet. Only a node with a listener for peers has them. */
import type { FleetEvents } from "../counters/fleet/fleet-limiter.ts";
import type { MetricTable } from "./table.ts";

export interface FleetMetrics {
  readonly tables: readonly MetricTable[];
  /** Counts the events. The metrics appear with the value 0, so that an alert on an increase sees the first event. */
  start(): Omit<FleetEvents, "onReplace"> & {
    /** A message was sent to another node. */
    readonly onSend: () => void;
  };
}

/** @param counter Creates the table of a counter with these labels */
export function createFleetMetrics(
  counter: (name: string, help: string, labelNames: readonly string[]) => MetricTable,
): FleetMetrics {
  const overshoot = counter(
    "sluice_limit_overshoot_total",
    "Requests that nodes of the fleet have admitted beyond a limit with policy fleet, as far as this node has found out",
    [],
  );
  const unowned = counter(
    "sluice_limit_unowned_total",
    "Requests that this node has admitted while the node that owns the counter of policy fleet did not answer",
    [],
  );
  const incomplete = counter(
    "sluice_limit_incomplete_handovers_total",
    "Changes of the fleet after which this node took over counters of policy fleet without the reports of all nodes",
    [],
  );
  const messages = counter(
    "sluice_limit_messages_total",
    "Messages about limits with policy fleet that this node has sent to other nodes",
    [],
  );
  const tables = [overshoot, unowned, incomplete, messages];
  return {
    tables,
    start() {
      for (const table of tables) table.of([]);
      return {
        onOvershoot: (_, tokens) => overshoot.increase(overshoot.of([]), tokens),
        onBorrow: () => unowned.increase(unowned.of([]), 1),
        onIncompleteHandover: () => incomplete.increase(incomplete.of([]), 1),
        onSend: () => messages.increase(messages.of([]), 1),
      };
    },
  };
}
