/**
 * Preloaded into a process by `--import`: shifts the process's `Date` by a number of milliseconds. The process reads
 * this number at its start and on SIGUSR2, from the file that the variable CLOCK_OFF names. Node's native code, such as
 * the validation of TLS certificates, uses the machine's clock.
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
