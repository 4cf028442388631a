export { connectToPort, freePort, isFree } from "./free-port.ts";
export { temporaryFolder } from "./reaper.ts";
export { type Exit, type Process, type StartOptions, startProcess } from "./start-process.ts";
export { type WaitOptions, waitFor } from "./wait-for.ts";
