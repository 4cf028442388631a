/** Checks what `phases` of a plugin returns, because TypeScript does not check packages in JavaScript. */
import { suggestionFor } from "@sluice/model/serving";
import type { PluginPhases } from "@sluice/plugin-sdk";

const known: Readonly<Record<keyof PluginPhases, true>> = {
  access: true,
  response: true,
  holds: true,
  responseHeaders: true,
  responseBody: true,
  log: true,
  connection: true,
  connectionLog: true,
  endpoint: true,
  start: true,
  stop: true,
};
const names = Object.keys(known) as (keyof PluginPhases)[];

/**
 * Returns the phases. Throws a TypeError for what has no effect as phases, such as a promise: a plugin that protects
 * would let every request pass. Members beside the phases are allowed.
 */
export function checkedPhases(phases: PluginPhases): PluginPhases {
  const given: unknown = phases;
  if (given instanceof Promise) throw new TypeError("`phases` returned a promise: it must not be asynchronous");
  if (typeof given !== "object" || given === null)
    throw new TypeError(
      `\`phases\` returned ${given === undefined ? given : kindOf(given)}, not an object with phases`,
    );
  for (const name of names) {
    const phase: unknown = phases[name];
    // Packages in JavaScript may have null for a phase that a config does not need. Requests fail if `access` is null.
    if (phase === undefined || (phase === null && name !== "access")) continue;
    if (typeof phase !== "function") throw new TypeError(`the phase ${name} is no function`);
  }
  const [other] = Object.keys(given);
  if (other !== undefined && names.every((name) => !(name in given)))
    throw new TypeError(
      `\`phases\` returned an object without a phase: ${other} is none${suggestionFor(other, names)}`,
    );
  return phases;
}

const kindOf = (value: unknown): string => (value === null ? "null" : `a ${typeof value}`);
