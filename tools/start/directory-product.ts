/** Starts all processes of the product, with a folder instead of a cluster for the custom resources. */
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { everyPartAnswers } from "./answers.ts";
import { type ChosenAddresses, productProcesses } from "./processes.ts";
import { type Product, runProduct } from "./product.ts";

const root = resolve(import.meta.dirname, "../..");

/** The folder of the user API's data. */
export const usersIn = (work: string): string => join(work, "users");

export interface DirectoryProductOptions {
  readonly chosen: ChosenAddresses;
  /** The folder for users and logs. */
  readonly work: string;
  /** The folder of custom resources. */
  readonly folder: string;
  /** Called with warnings and errors of the processes, one line each. Default: ignored. */
  readonly show?: (line: string) => void;
  /** Whether the user API is one of the parts. Default true. */
  readonly hasUserApi?: boolean;
}

export function startDirectoryProduct(options: DirectoryProductOptions): Promise<Product> {
  const { chosen, work, folder, show, hasUserApi = true } = options;
  const token = { SLUICE_PUSH_TOKEN: randomBytes(32).toString("hex") };
  const resources = { SLUICE_DIRECTORY: folder, SLUICE_STORE: "directory" };
  return runProduct({
    parts: productProcesses({
      root,
      chosen,
      resources: { operator: resources, admin: resources },
      push: { node: token, operator: token },
      pushScheme: "http",
      users: hasUserApi ? usersIn(work) : null,
    }),
    logs: join(work, "logs"),
    ...(show ? { show } : {}),
    what: "all parts to be ready",
    ready: () => everyPartAnswers(chosen, hasUserApi),
  });
}
