import type { Runtime } from "./runtime.ts";

/** Holds the runtime of new requests. A swap is one assignment; requests in flight keep their runtime. */
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
