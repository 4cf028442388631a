/** `sluice config parse`: every fault of a declarative file. */
import { Misused } from "../command.ts";
import type { Part } from "./part.ts";
import { readDeclarative } from "./read.ts";

export const parse: Part = async ({ words, print, usage }) => {
  const [file, ...more] = words;
  if (file === undefined || more.length > 0) throw new Misused(usage);
  await readDeclarative(file);
  print("parse successful\n");
};
