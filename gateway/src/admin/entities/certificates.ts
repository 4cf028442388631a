/** Certificates are written and shown with their server names, as in Kong. */
import { randomUUID } from "node:crypto";
import { type Certificate, checkEntity, type Entity, type Violation } from "@sluice/model";
import { etagOf } from "../../stores/etag.ts";
import { readCollection } from "../../stores/read-all.ts";
import type { Write } from "../../stores/store.ts";
import type { RawMembers } from "../http/decode-body.ts";
import { etagHeader } from "../http/preconditions.ts";
import type { EntityOperations, EntityReader, EntityRequest, PreparedWrite } from "../requests.ts";
import { findServerName, isId } from "./resolve-url.ts";
import { timestampFor } from "./write-operations.ts";

export const certificates = (derived: EntityOperations): Partial<EntityOperations> => ({
  async present(entity, store) {
    const snis = await snisOf(store, entity.id);
    return { ...(entity as Certificate), snis: snis.map(({ name }) => name).sort() };
  },

  /** The ETag of the shown form, which includes the server names. */
  tag: (_entity, shown) => etagOf(shown as Entity),

  create: (call) => withNames(call, derived.create, { unset: [] }),

  async upsert(call) {
    const { params, endpoint } = call;
    const segment = params.entity ?? "";
    if (endpoint.kind === "foreign" || isId(segment)) return withNames(call, derived.upsert, { unset: [] });
    const sni = await findServerName(call.store, segment);
    const at = { ...call, params: { entity: sni?.certificate?.id ?? randomUUID() } };
    return withNames(at, derived.upsert, { unset: [], also: segment });
  },

  change: (call) => withNames(call, derived.change, {}),
});

interface Names {
  /** The names to set if the body has no `snis`; undefined: the names stay unchanged. */
  readonly unset?: readonly string[];
  /** The server name in the URL, which is added to the names in the body. */
  readonly also?: string;
}

/**
 * Adds writes of server names to the write of the certificate. Afterwards the certificate has the names in the body
 * (`unset` if the body has no `snis`) and the name in the URL.
 */
async function withNames(
  call: EntityRequest,
  parent: (call: EntityRequest) => Promise<PreparedWrite>,
  { unset, also }: Names,
): Promise<PreparedWrite> {
  const { snis: given, ...rest }: RawMembers = call.body();
  const listed = given === null ? [] : (given ?? unset);
  const names = typeof listed === "string" ? [listed] : listed;
  const isList = Array.isArray(names) && also !== undefined && !names.includes(also);
  const wanted = isList ? [...names, also] : names;
  const faults = faultsOf(wanted);
  const step = await parent({ ...call, body: () => rest, extraViolations: [...call.extraViolations, ...faults] });
  const [write] = step.writes;
  if (wanted === undefined || write === undefined || write.op === "remove") return step;
  const { id } = write.entity;
  const { writes, faults: associated } = await changes(call, id, wanted as readonly string[]);
  if (associated.length > 0) await parent({ ...call, body: () => rest, extraViolations: associated });
  return {
    ...step,
    writes: [...step.writes, ...writes],
    // The id derived from a server name may be in use: another attempt uses a random id.
    isRetryable: async (fault) => (fault.kind === "primary-key" && fault.id !== id) || step.isRetryable(fault),
    async respond(effects) {
      const answer = await step.respond(effects);
      const body = { ...(answer.body as object), snis: [...(wanted as readonly string[])].sort() };
      return { ...answer, body, headers: etagHeader(etagOf(body as unknown as Entity)) };
    },
  };
}

function faultsOf(names: unknown): readonly Violation[] {
  if (names === undefined) return [];
  if (!Array.isArray(names)) return [{ path: ["snis"], message: "expected a set" }];
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (typeof repeated === "string") return [{ path: ["snis"], message: `${repeated} is duplicated` }];
  return names.flatMap((name, index) => {
    const faults = checkEntity("snis", { name, certificate: { id: PLACEHOLDER_ID } }).violations ?? [];
    return faults.filter(({ path }) => path[0] === "name").map(({ message }) => ({ path: ["snis", index], message }));
  });
}

const PLACEHOLDER_ID = "00000000-0000-0000-0000-000000000000";

async function changes({ store, takenIds: taken }: EntityRequest, id: string, names: readonly string[]) {
  const current = await snisOf(store, id);
  const gone = current.filter(({ name }) => !names.includes(name));
  const writes: Write[] = gone.map((sni) => ({ op: "remove", collection: "snis", by: { id: sni.id } }));
  const faults: Violation[] = [];
  for (const name of names.filter((one) => current.every((sni) => sni.name !== one))) {
    const other = await store.find("snis", { member: "name", value: name });
    if (other?.certificate) {
      const message = `${name} already associated with existing certificate '${other.certificate.id}'`;
      faults.push({ path: ["snis"], message });
    }
    const { value } = checkEntity("snis", { name, certificate: { id } }, { now: timestampFor("snis") });
    if (!value) continue;
    const isTaken = taken.has(value.id) || (await store.find("snis", { id: value.id })) !== null;
    writes.push({ op: "create", collection: "snis", entity: isTaken ? { ...value, id: randomUUID() } : value });
  }
  return { writes, faults };
}

const snisOf = (store: EntityReader, id: string) =>
  readCollection(store, "snis", { where: { member: "certificate", id } });
