/** `sluice config parse`: every fault of a declarative file. */
import type { Part } from "./part.ts";
import { readDeclarative } from "./read.ts";

export const parse: Part = async ({ given, print }) => {
  const [file = ""] = given.positionals;
  await readDeclarative(file);
  print("parse successful\n");
};
