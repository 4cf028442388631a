/** An observer that records events and waits for more. */
import type { Observer, Resource } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";

export interface RecordingObserver extends Observer {
  /** `replaced a,b`, `changed a`, `removed a`, `lost`, in order. */
  readonly reported: string[];
  readonly lostWith: Error[];
  /** The names of the current resources, sorted. */
  names(): readonly string[];
  held(name: string): Resource | undefined;
  /** Waits until the condition holds, whatever events come before. */
  sees(condition: (witness: RecordingObserver) => boolean, what: string): Promise<unknown>;
}

export function createWitness(): RecordingObserver {
  const held = new Map<string, Resource>();
  const reported: string[] = [];
  const lostWith: Error[] = [];
  const witness: RecordingObserver = {
    reported,
    lostWith,
    replaced(resources) {
      held.clear();
      for (const resource of resources) held.set(resource.metadata.name, resource);
      reported.push(`replaced ${[...held.keys()].sort().join(",")}`);
    },
    changed(resource) {
      held.set(resource.metadata.name, resource);
      reported.push(`changed ${resource.metadata.name}`);
    },
    removed(resource) {
      held.delete(resource.metadata.name);
      reported.push(`removed ${resource.metadata.name}`);
    },
    lost(error) {
      lostWith.push(error);
      reported.push("lost");
    },
    names: () => [...held.keys()].sort(),
    held: (name) => held.get(name),
    sees: (condition, what) =>
      waitFor(() => condition(witness), { what: `${what}; reported: ${reported.join("; ")}`, timeout: 30_000 }),
  };
  return witness;
}
