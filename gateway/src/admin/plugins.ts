/** What plugins do differently. */
import { type Plugin, withDeprecated } from "@sluice/model";
import type { Operations } from "./operations/index.ts";

/** Kong's clients compare what they sent with the answer, and files that were dumped from Kong have both spellings. */
export const plugins = (): Partial<Operations> => ({
  async present(entity) {
    const { config, ...members } = entity as Plugin;
    return { ...members, config: withDeprecated(members.name, config) };
  },
});
