/** The endpoint sections of a change: addresses by the id of a service or an upstream. */
import { isIP } from "node:net";
import { isRecord, type Violation } from "@sluice/plugin-sdk";
import {
  type EndpointLists,
  type EndpointSection,
  MAX_ENDPOINT_WEIGHT,
  type PerEndpointSection,
  perEndpointSection,
  type ServiceEndpoint,
  type UpstreamEndpoint,
} from "../../document.ts";
import { freezeDeep } from "../stored-entity.ts";

/** A list of addresses, as a value whose section does not matter. */
export type EndpointList = EndpointLists[EndpointSection];

/** Addresses by id; null removes the addresses. */
export type ChangedLists = ReadonlyMap<string, EndpointList | null>;

export interface CheckedEndpoints {
  /** Empty when there are violations. */
  readonly lists: PerEndpointSection<ChangedLists>;
  readonly violations: readonly Violation[];
}

/** No addresses change. */
export const noChangedLists: PerEndpointSection<ChangedLists> = perEndpointSection(() => new Map());

/** Checks the addresses and sorts them, so that their original order does not affect the hash. */
export function checkEndpoints(change: { readonly [Name in EndpointSection]?: unknown }): CheckedEndpoints {
  const checked = perEndpointSection((section) => checkSection(section, change[section] ?? {}));
  const violations = Object.values(checked).flatMap((one) => one.violations);
  const lists = violations.length > 0 ? noChangedLists : perEndpointSection((section) => checked[section].lists);
  return { lists, violations };
}

interface CheckedSection {
  readonly lists: ChangedLists;
  readonly violations: readonly Violation[];
}

function checkSection(section: EndpointSection, raw: unknown): CheckedSection {
  const at = (...steps: (string | number)[]): Violation["path"] => ["_sluice", section, ...steps];
  if (!isRecord(raw)) return { lists: new Map(), violations: [{ path: at(), message: "expected a record" }] };
  const violations = Object.entries(raw).flatMap(([id, list]): readonly Violation[] => {
    if (list === null) return [];
    if (!Array.isArray(list)) return [{ path: at(id), message: "expected an array" }];
    return list.flatMap((endpoint, index) => faultsOf(section, endpoint, at(id, index)));
  });
  if (violations.length > 0) return { lists: new Map(), violations };
  const lists = Object.entries(raw as Readonly<Record<string, EndpointList | null>>).map(
    ([id, list]) => [id.toLowerCase(), list && inOrder(section, list)] as const,
  );
  return { lists: new Map(lists), violations };
}

function inOrder(section: EndpointSection, list: EndpointList): EndpointList {
  const plain: EndpointList = section === "endpoints" ? list.map(plainEndpoint) : list.map(weightedEndpoint);
  return freezeDeep(
    plain.toSorted((a, b) => (a.address === b.address ? a.port - b.port : a.address < b.address ? -1 : 1)),
  ) as EndpointList;
}

const plainEndpoint = ({ address, port, terminating, fallback, zones }: ServiceEndpoint): ServiceEndpoint => ({
  address,
  port,
  ...(terminating && { terminating }),
  ...(fallback && { fallback }),
  ...(zones && { zones: zones.toSorted() }),
});

const weightedEndpoint = (endpoint: EndpointList[number]): UpstreamEndpoint => {
  const { address, port, weight, zones } = endpoint as UpstreamEndpoint;
  return { address, port, weight, ...(zones && { zones: zones.toSorted() }) };
};

function faultsOf(section: EndpointSection, endpoint: unknown, path: Violation["path"]): readonly Violation[] {
  if (!isRecord(endpoint)) return [{ path, message: "expected a record" }];
  const { address, port, zones = [], ...rest } = endpoint;
  const violations: Violation[] = [];
  const report = (member: string, message: string) => violations.push({ path: [...path, member], message });
  if (typeof address !== "string") report("address", "expected a string");
  else if (isIP(address) === 0) report("address", `not an IP address: ${address}`);
  if (typeof port !== "number" || !Number.isInteger(port)) report("port", "expected an integer");
  else if (port < 1 || port > 65_535) report("port", "value should be between 1 and 65535");
  if (!isZoneList(zones)) report("zones", `expected a list of at most ${MAX_ZONES} names of zones`);
  for (const [member, message] of section === "endpoints" ? flagFaults(rest) : weightFaults(rest))
    report(member, message);
  return violations;
}

/** As in EndpointSlices. */
const MAX_ZONES = 8;
const MAX_ZONE_LENGTH = 253;

const isZoneList = (zones: unknown): boolean =>
  Array.isArray(zones) &&
  zones.length <= MAX_ZONES &&
  zones.every((zone) => typeof zone === "string" && zone.length > 0 && zone.length <= MAX_ZONE_LENGTH);

type Members = Readonly<Record<string, unknown>>;
type MemberFault = readonly [member: string, message: string];

const unknownMembers = (members: Members): readonly MemberFault[] =>
  Object.keys(members).map((member) => [member, "unknown field"]);

function flagFaults({ terminating = false, fallback = false, ...unknown }: Members): readonly MemberFault[] {
  const flags = Object.entries({ terminating, fallback }).filter(([, flag]) => typeof flag !== "boolean");
  return [...flags.map(([member]): MemberFault => [member, "expected a boolean"]), ...unknownMembers(unknown)];
}

function weightFaults({ weight, ...unknown }: Members): readonly MemberFault[] {
  const isWeight = Number.isInteger(weight) && Number(weight) >= 0 && Number(weight) <= MAX_ENDPOINT_WEIGHT;
  const message = `expected an integer between 0 and ${MAX_ENDPOINT_WEIGHT}`;
  return [...(isWeight ? [] : [["weight", message] as const]), ...unknownMembers(unknown)];
}
