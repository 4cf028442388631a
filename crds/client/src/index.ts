/** Custom resources: reading and writing them, wherever they are kept. */
export * from "./cache.ts";
export * from "./endpoints.ts";
export * from "./resource.ts";
