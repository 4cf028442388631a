/**
 * Consumer groups and their members, as in Kong Enterprise. Responses show the consumer or group at the other end of a
 * membership instead of the membership (docs/reference/kong-compatibility.md#consumer-groups).
 */
import { type Collection, type ConsumerGroupConsumer, type Entity, references } from "@sluice/model";
import { readCollection } from "../../stores/read-all.ts";
import { parseBooleanOption } from "../http/boolean-option.ts";
import { badRequest, invalidEntity, notFound } from "../http/errors.ts";
import type { EntityOperations, EntityReader, EntityRequest, PreparedWrite } from "../requests.ts";
import { listEntities, showEntity } from "./operations.ts";
import { lookupForSegment, resolveParent } from "./resolve-url.ts";

const MEMBERSHIPS = "consumer_group_consumers";

/**
 * GET of one group returns it as `consumer_group`, together with its `consumers`. The query `list_consumers=false`
 * leaves out the consumers.
 */
export const consumerGroups = (derived: EntityOperations): Partial<EntityOperations> => ({
  async show(call) {
    if (call.endpoint.kind === "foreign") return derived.show(call);
    const option = call.query.get("list_consumers");
    const isListed = option === null || parseBooleanOption("list_consumers", option);
    return showEntity(
      {
        ...derived,
        async present(entity, store) {
          const consumer_group = await derived.present(entity, store);
          if (!isListed) return { consumer_group };
          return { consumer_group, consumers: await others(store, { member: "consumer_group", id: entity.id }) };
        },
      },
      call,
    );
  },
});

/** The end of a membership (its consumer or its group) that is not the parent in the URL. */
interface OtherEnd {
  readonly member: "consumer" | "consumer_group";
  readonly collection: Extract<Collection, "consumers" | "consumer_groups">;
}

function otherEnd(parent: string): OtherEnd {
  const reference = references[MEMBERSHIPS].find(({ member }) => member !== parent);
  return { member: reference?.member, collection: reference?.to } as OtherEnd;
}

interface Parent {
  readonly member: string;
  readonly id: string;
}

/** All consumers of a group, or all groups of a consumer. */
async function others(store: EntityReader, parent: Parent): Promise<readonly Entity[]> {
  const memberships = await readCollection(store, MEMBERSHIPS, { where: parent });
  const found = await Promise.all(memberships.map((membership) => otherOf(store, membership, parent.member)));
  return found.filter((entity) => entity !== null);
}

function otherOf(store: EntityReader, membership: ConsumerGroupConsumer, parent: string): Promise<Entity | null> {
  const { member, collection } = otherEnd(parent);
  return store.find(collection, { id: membership[member].id });
}

/** The URLs of memberships always have a parent. @throws HttpError 404 when the parent does not exist. */
async function parentOf(call: EntityRequest): Promise<Parent> {
  const parent = await resolveParent(call);
  if (!parent) throw notFound();
  return parent;
}

/** @throws HttpError 404 if the parent, the other end or the membership does not exist. */
async function resolveMembership(call: EntityRequest) {
  const { store, params } = call;
  const parent = await parentOf(call);
  const { member, collection } = otherEnd(parent.member);
  const other: Entity | null = await store.find(
    collection,
    await lookupForSegment(store, collection, params.child ?? ""),
  );
  // Lists the memberships of the consumer: a consumer belongs to few groups, but a group may have many consumers.
  const ids = { [parent.member]: parent.id, [member]: other?.id ?? "" };
  const ofConsumer = other
    ? await readCollection(store, MEMBERSHIPS, { where: { member: "consumer", id: ids.consumer ?? "" } })
    : [];
  const membership = ofConsumer.find(({ consumer_group }) => consumer_group.id === ids.consumer_group);
  if (!other || !membership) throw notFound();
  return { other, membership };
}

export const consumerGroupConsumers = (derived: EntityOperations): Partial<EntityOperations> => ({
  async list(call) {
    const { member } = await parentOf(call);
    const present = async (entity: Entity, store: EntityReader) => {
      const other = await otherOf(store, entity as ConsumerGroupConsumer, member);
      return { ...other };
    };
    return listEntities({ ...derived, present }, call);
  },

  async show(call) {
    const { other } = await resolveMembership(call);
    return { status: 200, body: other };
  },

  /** The body names the other end: `consumer` below a group, `group` below a consumer. */
  async create(call) {
    const parent = await parentOf(call);
    const { member, collection } = otherEnd(parent.member);
    const name = member === "consumer" ? "consumer" : "group";
    const { [name]: named, ...unknown } = call.body();
    const faults = Object.keys(unknown).map((member) => ({ path: [member], message: "unknown field" }));
    if (faults.length > 0) throw invalidEntity(faults);
    if (typeof named !== "string" || named === "") throw badRequest(`set ${name} to a name or an id`);
    const other: Entity | null = await call.store.find(
      collection,
      await lookupForSegment(call.store, collection, named),
    );
    if (!other) throw notFound();
    const prepared = await derived.create({ ...call, body: () => ({ [member]: { id: other.id } }) });
    return {
      ...prepared,
      async respond() {
        if (member === "consumer") {
          const group = await call.store.find("consumer_groups", { id: parent.id });
          return { status: 201, body: { consumer_group: group, consumers: [other] } };
        }
        const consumer = await call.store.find("consumers", { id: parent.id });
        return { status: 201, body: { consumer, consumer_groups: [other] } };
      },
    };
  },

  /** Removes one membership, or all memberships of the parent. */
  async remove(call): Promise<PreparedWrite> {
    const memberships =
      call.endpoint.kind === "list"
        ? await readCollection(call.store, MEMBERSHIPS, { where: await parentOf(call) })
        : [(await resolveMembership(call)).membership];
    return {
      writes: memberships.map(({ id }) => ({ op: "remove", collection: MEMBERSHIPS, by: { id } })),
      respond: async () => ({ status: 204 }),
      attempt: { verb: "remove", collection: MEMBERSHIPS, by: undefined },
      isRetryable: async ({ kind }) => kind === "changed",
    };
  },
});
