import type { Runtime } from "./runtime.ts";

/** Holds the runtime that new requests begin with. A swap is one assignment; requests under way keep theirs. */
export interface RuntimeHolder {
  readonly current: Runtime;
  swap(next: Runtime): void;
}

export function holdRuntime(first: Runtime): RuntimeHolder {
  let current = first;
  return {
    get current() {
      return current;
    },
    swap(next) {
      current = next;
    },
  };
}
