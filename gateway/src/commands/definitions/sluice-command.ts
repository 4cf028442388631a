import type { CommandDefinition } from "@sluice/model/command-line";
import type { Command } from "../command.ts";

/** The definition of a command of `sluice`. */
export type SluiceCommand = CommandDefinition<Command>;
