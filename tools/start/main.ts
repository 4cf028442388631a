/** `npm start`: the whole product on this machine, on a folder of custom resources. Ctrl-C drains and stops it. */
import { join, resolve } from "node:path";
import { buildConsole } from "../build/console.ts";
import { queryThroughProxy } from "./answers.ts";
import { startDirectoryProduct, usersIn } from "./directory-product.ts";
import { greetingText } from "./greeting.ts";
import { refuseTakenPorts, StartError } from "./ports.ts";
import { chosenAddresses } from "./processes.ts";
import { untilStopped } from "./product.ts";
import { copySamples } from "./samples.ts";
import { productTour } from "./tour.ts";
import { pathInShell } from "./typed.ts";
import { seedUsers } from "./users.ts";

const root = resolve(import.meta.dirname, "../..");

async function main(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new StartError(`npm start takes no arguments, but got '${args[0]}': see README.md`);
  // Holds this instance's users, logs and (unless SLUICE_DIRECTORY is set) custom resources across restarts.
  const work = resolve(process.env.SLUICE_WORK || join(root, ".sluice"));
  const folder = resolve(process.env.SLUICE_DIRECTORY || join(work, "resources"));
  const chosen = chosenAddresses(process.env);
  await refuseTakenPorts(chosen);
  copySamples({ samples: join(root, "crds/samples"), folder, userApi: chosen.userApi });
  await seedUsers(usersIn(work));
  buildConsole();
  const product = await startDirectoryProduct({ chosen, work, folder, show: (line) => console.error(line) });
  const places = [
    ["custom resources", pathInShell(folder)],
    ["logs", pathInShell(join(work, "logs"))],
  ] as const;
  const answer = await queryThroughProxy(chosen.proxy);
  const steps = answer.ok ? productTour({ chosen, folder, typed: pathInShell(folder), answer: answer.text }) : [];
  const gone = `The resources in ${pathInShell(folder)} no longer serve the sample query (${answer.text}). Delete that folder to start the tour again.`;
  const words = [greetingText({ chosen, places, steps }), ...(answer.ok ? [] : [gone])];
  return untilStopped(product, { greeting: words.join("\n") });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
