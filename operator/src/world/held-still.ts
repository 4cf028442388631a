/** A world that stays as it is, for work that takes several turns. */
import { type World, watchedKinds } from "./world.ts";

/** The resources are the same objects. */
export const heldStill = (world: World): World =>
  Object.fromEntries(watchedKinds.map((kind) => [kind, new Map(world[kind])])) as unknown as World;
