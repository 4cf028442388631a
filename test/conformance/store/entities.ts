/** Entities for the suites of stores. */
import { randomUUID } from "node:crypto";
import { type Collection, checkEntity, type Entities } from "@sluice/model";

/** A filled entity; the raw one must be valid. */
export function entity<Name extends Collection>(collection: Name, raw: object): Entities[Name] {
  const checked = checkEntity(collection, raw, { now: Math.floor(Date.now() / 1000) });
  if (checked.violations) throw new Error(JSON.stringify(checked.violations));
  return checked.value;
}

const uniqueId = () => ({ id: randomUUID() });

export const service = (name: string, raw: object = {}) => entity("services", { name, host: "users.example", ...raw });
export const route = (raw: object) => entity("routes", { ...uniqueId(), paths: ["/"], ...raw });
export const plugin = (name: string, raw: object = {}) => entity("plugins", { ...uniqueId(), name, ...raw });
export const consumer = (username: string, raw: object = {}) => entity("consumers", { username, ...raw });
export const credential = (owner: { readonly id: string }, key: string, raw: object = {}) =>
  entity("keyauth_credentials", { ...uniqueId(), consumer: { id: owner.id }, key, ...raw });
