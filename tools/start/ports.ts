/** Checks all addresses before any process starts; names each unusable one and the setting that changes it. */
import { isFree } from "../process/index.ts";
import { type ChosenAddresses, type ProductAddress, productAddresses } from "./processes.ts";

/** An error that the user can fix; printed without a stack. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** @throws StartError with a line for each address that is invalid, used twice, or taken. */
export async function refuseTakenPorts(chosen: ChosenAddresses): Promise<void> {
  const faults: string[] = [];
  const seen = new Map<number, ProductAddress>();
  for (const [name, address] of Object.entries(productAddresses)) {
    const { setting, what } = address;
    const text = chosen[name as keyof ChosenAddresses];
    const port = Number(/^\S+:(\d{1,5})$/.exec(text)?.[1] ?? "0");
    const twin = seen.get(port);
    if (port < 1 || port > 65_535)
      faults.push(`${setting} must be host:port with a port from 1 to 65535, not '${text}'`);
    else if (twin) faults.push(`${setting} and ${twin.setting} name the same port ${port}: change one of them`);
    else if (!(await isFree(port)))
      faults.push(
        `port ${port} (${what}) is in use: stop the process that listens there, or choose another port with ${setting}`,
      );
    seen.set(port, address);
  }
  if (faults.length > 0) throw new StartError(faults.join("\n"));
}
