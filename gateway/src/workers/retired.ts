/** What workers that are no more have counted, as of their last report: sums must not go down. */
import { type Connections, type Part, partsOf, Sum } from "../plugins/index.ts";
import type { ThreadReport } from "./messages.ts";
import { addConnections } from "./workers.ts";

export class Retired {
  connections: Connections = addConnections([]);
  readonly #sum = new Sum();

  add(report: ThreadReport | null, parts: readonly Part[]): void {
    for (const part of parts) this.#sum.add(part);
    if (report === null) return;
    const { accepted, handled, requests } = report.connections;
    // Its connections are no more.
    const none = { active: 0, reading: 0, writing: 0, waiting: 0 };
    this.connections = addConnections([this.connections, { accepted, handled, requests, ...none }]);
  }

  parts(): AsyncIterable<Part> {
    return partsOf(this.#sum.tables);
  }
}
