/** Initial users, so that the first query returns data. */
import { existsSync } from "node:fs";
import { demoUser } from "../../user-api/src/commands/seed.ts";
import { builtProgram } from "../build/programs.ts";
import { startProcess } from "../process/index.ts";
import { StartError } from "./ports.ts";

const COUNT = 3;

/** The response to the tour's query while there are no other users. */
export const seededAnswer = JSON.stringify({
  data: {
    users: Array.from({ length: COUNT }, (_, index) => demoUser(index)).map(({ name, posts }) => ({
      name,
      posts: posts.map((title) => ({ title })),
    })),
  },
});

/** Creates the users on the first start, before the user API opens the folder. */
export async function seedUsers(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  const seed = await startProcess(await builtProgram("user-api"), ["seed", String(COUNT)], {
    name: "sluice-user-api seed",
    env: { SLUICE_USER_API_DATA: folder },
  });
  if ((await seed.ended()).code !== 0) throw new StartError(`the demo users could not be created:\n${seed.tail()}`);
}
