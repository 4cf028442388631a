/** Reads a page's commands and their documented output. */

interface Step {
  readonly commands: string;
  readonly output: string;
}

/** Pairs of a command block and the output block after it, from one section of a page. */
export function readmeStepsOf(page: string, section: string): readonly Step[] {
  const [, body = ""] = page.split(`## ${section}\n`);
  const [part = ""] = body.split("\n## ");
  return [...part.matchAll(/```sh\n((?:(?!```)[\s\S])*)```\n```\n((?:(?!```)[\s\S])*)```/g)].map(
    ([, commands = "", output = ""]) => ({
      commands,
      output,
    }),
  );
}
