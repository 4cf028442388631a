/** Modules that tell what a process alone knows of itself: to be preloaded into it. */
import { join } from "node:path";

/** A path for Node's --import. */
export const preload = (name: "loop-delay" | "loop-turns"): string => join(import.meta.dirname, `${name}.ts`);
