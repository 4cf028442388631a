/** `npm start`: the whole product on this machine, on a folder of custom resources. Ctrl-C drains and stops it. */
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { answersThrough, greeting } from "./greeting.ts";
import { addresses, chosenAddresses, parts } from "./processes.ts";
import { refuseTakenPorts, runProduct, StartError } from "./product.ts";

const root = resolve(import.meta.dirname, "../..");
const work = join(root, ".sluice");

/** The folder of custom resources: on the first start a copy of the samples, pointed at the user API's address. */
function workingFolder(userApi: string): string {
  const folder = process.env.SLUICE_DIRECTORY ?? join(work, "resources");
  if (existsSync(folder)) return folder;
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, "crds/samples"), folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll(`http://${addresses.userApi.standard}`, `http://${userApi}`));
  }
  return folder;
}

async function main(): Promise<void> {
  const chosen = chosenAddresses(process.env);
  await refuseTakenPorts(chosen);
  const folder = workingFolder(chosen.userApi);
  const token = randomBytes(32).toString("hex");
  const product = await runProduct({
    parts: parts({
      root,
      chosen,
      resources: () => ({ SLUICE_DIRECTORY: folder, SLUICE_STORE: "directory" }),
      push: { node: { SLUICE_PUSH_TOKEN: token }, operator: { SLUICE_PUSH_TOKEN: token } },
      pushScheme: "http",
    }),
    logs: join(work, "logs"),
    ready: async () => {
      await Promise.all([
        answersThrough(chosen.proxy),
        answersThrough(chosen.proxy2),
        fetch(`http://${chosen.admin}/`),
      ]);
    },
  });
  console.log(greeting({ chosen, folder: relative(process.cwd(), folder) || "." }));
  const stopped = new Promise<string>((resolveSignal) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolveSignal("stopped"));
  });
  const ended = await Promise.race([stopped, product.failed]);
  if (ended !== "stopped") console.error(`${ended} has ended:\n${product.processes.get(ended)?.tail(15)}`);
  console.log("stopping: requests under way are finished first");
  await product.stop();
  process.exitCode = ended === "stopped" ? 0 : 1;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
