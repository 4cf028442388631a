/** Modules to preload into a process, for figures that only the process itself can measure. */
import { join } from "node:path";

/** A path for Node's --import. */
export const preloadPath = (name: "loop-delay" | "loop-iterations"): string => join(import.meta.dirname, `${name}.ts`);
