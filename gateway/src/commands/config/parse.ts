/** `sluice config parse`: prints every error of a declarative file, and warns of parts that have no effect. */
import type { Part } from "./part.ts";
import { readDeclarative } from "./read.ts";

export const parse: Part = async ({ given, print }) => {
  const [file = ""] = given.positionals;
  await readDeclarative(file, { warn: (sentence) => print(`warning: ${sentence}\n`) });
  print("parse successful\n");
};
