/** `sluice config parse`: prints every error of a declarative file, and warns of parts that have no effect. */
import type { ConfigSubcommand } from "./part.ts";
import { readDeclarative } from "./read.ts";

export const parse: ConfigSubcommand = async ({ given, print }) => {
  const [file = ""] = given.positionals;
  await readDeclarative(file, { warn: (sentence) => print(`warning: ${sentence}\n`) });
  print("parse successful\n");
};
