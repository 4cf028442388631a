import { freePort } from "../../tools/process/index.ts";
import { type ChosenAddresses, type Name, productAddresses } from "../../tools/start/processes.ts";

/** Free addresses for all listeners of a product, so that several products can run on one machine. */
export async function freeAddresses(): Promise<ChosenAddresses> {
  const names = Object.keys(productAddresses) as Name[];
  const taken = new Set<number>();
  const chosen: [Name, string][] = [];
  for (const name of names) {
    let port = await freePort();
    while (taken.has(port)) port = await freePort();
    taken.add(port);
    chosen.push([name, `127.0.0.1:${port}`]);
  }
  return Object.fromEntries(chosen) as Record<Name, string>;
}

/** The settings for these addresses. */
export function settingsOf(chosen: ChosenAddresses): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(productAddresses).map(([name, { setting }]) => [setting, chosen[name as Name]]),
  );
}
