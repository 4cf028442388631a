/** The endpoints section of a change: addresses by service id. */
import { isIP } from "node:net";
import { isRecord, type Violation } from "@sluice/plugin-sdk";
import type { ServiceEndpoint } from "../../document.ts";
import { freezeDeep } from "../stored-entity.ts";

export interface CheckedEndpoints {
  /** Addresses by service id; null removes the addresses of the service. Empty when there are violations. */
  readonly lists: ReadonlyMap<string, readonly ServiceEndpoint[] | null>;
  readonly violations: readonly Violation[];
}

const at = (...steps: (string | number)[]): Violation["path"] => ["_sluice", "endpoints", ...steps];

/** Checks the addresses and sorts them, so that their original order does not affect the hash. */
export function checkEndpoints(raw: unknown): CheckedEndpoints {
  const sections = raw ?? {};
  if (!isRecord(sections)) return { lists: new Map(), violations: [{ path: at(), message: "expected a record" }] };
  const violations = Object.entries(sections).flatMap(([id, list]): readonly Violation[] => {
    if (list === null) return [];
    if (!Array.isArray(list)) return [{ path: at(id), message: "expected an array" }];
    return list.flatMap((endpoint, index) => faultsOf(endpoint, at(id, index)));
  });
  const checked = (violations.length > 0 ? {} : sections) as Readonly<
    Record<string, readonly ServiceEndpoint[] | null>
  >;
  const lists = Object.entries(checked).map(([id, list]) => [id.toLowerCase(), list && inOrder(list)] as const);
  return { lists: new Map(lists), violations };
}

function inOrder(list: readonly ServiceEndpoint[]): readonly ServiceEndpoint[] {
  const plain = list
    .map(({ address, port, terminating, fallback }) => ({
      address,
      port,
      ...(terminating && { terminating }),
      ...(fallback && { fallback }),
    }))
    .sort((a, b) => (a.address === b.address ? a.port - b.port : a.address < b.address ? -1 : 1));
  return freezeDeep(plain);
}

function faultsOf(endpoint: unknown, path: Violation["path"]): readonly Violation[] {
  if (!isRecord(endpoint)) return [{ path, message: "expected a record" }];
  const { address, port, terminating = false, fallback = false, ...unknown } = endpoint;
  const violations: Violation[] = [];
  const report = (member: string, message: string) => violations.push({ path: [...path, member], message });
  if (typeof address !== "string") report("address", "expected a string");
  else if (isIP(address) === 0) report("address", `not an IP address: ${address}`);
  if (typeof port !== "number" || !Number.isInteger(port)) report("port", "expected an integer");
  else if (port < 1 || port > 65_535) report("port", "value should be between 1 and 65535");
  for (const [member, flag] of Object.entries({ terminating, fallback }))
    if (typeof flag !== "boolean") report(member, "expected a boolean");
  for (const member of Object.keys(unknown)) report(member, "unknown field");
  return violations;
}
