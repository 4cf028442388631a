/** The program of every stack: what it creates, and with which values, says the stack's config. */
import { loadConfig } from "./config.ts";
import { createCrds } from "./crds.ts";
import { createUsers } from "./users.ts";

const config = loadConfig();

/** URNs of what the stack created, in order. */
export const created = (config.creates === "crds" ? createCrds() : createUsers(config)).map(({ urn }) => urn);
