/** Scripts with which shells complete the command line of a program. */
import type { CommandDefinition } from "../definition.ts";

const scripts = {
  bash: async () => (await import("./bash.ts")).bashScript,
  zsh: async () => (await import("./zsh.ts")).zshScript,
  fish: async () => (await import("./fish.ts")).fishScript,
} as const;

export type CompletionShell = keyof typeof scripts;

export async function completionScript(shell: CompletionShell, program: CommandDefinition): Promise<string> {
  const [script, { completionsOf }] = await Promise.all([scripts[shell](), import("./candidates.ts")]);
  return script(program.name, await completionsOf(program));
}
