/**
 * Loaded into a process by `--import`: its clock on the wall is wrong by as many milliseconds as the file says that
 * CLOCK_OFF names, read at the start and again at SIGUSR2. What Node itself does, such as looking at certificates of
 * TLS, goes by the machine's clock.
 */
import { readFileSync } from "node:fs";

const file = process.env.CLOCK_OFF ?? "";
const rightNow = Date.now;
let off = 0;
const now = () => rightNow() + off;

function read(): void {
  off = Number(readFileSync(file, "utf8"));
}

read();
process.on("SIGUSR2", read);
globalThis.Date = new Proxy(Date, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
});
