/** Custom resources: reading and writing them, wherever they are kept. */
export * from "./resource.ts";
