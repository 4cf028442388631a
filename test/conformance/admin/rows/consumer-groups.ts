/** Consumer groups, their consumers and their plugins. */
import { deriveId } from "@sluice/model";
import { ids } from "../fixture.ts";
import type { AdminRow, AdminTable } from "../row.ts";

const gold = { id: deriveId("consumer_groups", "gold") };
const silver = { id: deriveId("consumer_groups", "silver") };
const base = { id: ids.consumer };

const definition: readonly AdminRow[] = [
  {
    does: "is created with a name",
    ask: "POST /consumer_groups",
    form: "name=gold&tags[]=t",
    status: 201,
    has: { ...gold, name: "gold", tags: ["t"] },
  },
  {
    does: "is not created without a name",
    ask: "POST /consumer_groups",
    json: {},
    status: 400,
    has: { fields: { name: "required field missing" } },
  },
  {
    does: "has a unique name",
    ask: "POST /consumer_groups",
    json: { name: "gold" },
    status: 409,
    message: `UNIQUE violation detected on '{name="gold"}'`,
  },
  { does: "is created by PUT", ask: "PUT /consumer_groups/silver", json: {}, status: 200, has: silver },
  {
    does: "is changed by PATCH",
    ask: "PATCH /consumer_groups/silver",
    json: { tags: ["t", "u"] },
    status: 200,
    has: { ...silver, tags: ["t", "u"] },
  },
  {
    does: "is listed by its tags",
    ask: "GET /consumer_groups?tags=u",
    status: 200,
    has: { data: [silver], next: null },
  },
  {
    does: "is shown with its consumers",
    ask: "GET /consumer_groups/gold",
    status: 200,
    has: { consumer_group: { ...gold, name: "gold" }, consumers: [] },
  },
  {
    does: "is shown without its consumers for list_consumers=false",
    ask: "GET /consumer_groups/gold?list_consumers=false",
    status: 200,
    has: { consumer_group: gold },
    lacks: ["consumers"],
  },
  { does: "is not found by an unknown name", ask: "GET /consumer_groups/bronze", status: 404 },
];

const members: readonly AdminRow[] = [
  {
    does: "gets a consumer",
    ask: "POST /consumer_groups/gold/consumers",
    json: { consumer: "base" },
    status: 201,
    has: { consumer_group: gold, consumers: [{ ...base, username: "base" }] },
  },
  {
    does: "does not get a consumer twice",
    ask: "POST /consumer_groups/gold/consumers",
    json: { consumer: ids.consumer },
    status: 409,
  },
  {
    does: "does not get a consumer that does not exist",
    ask: "POST /consumer_groups/gold/consumers",
    json: { consumer: "nobody" },
    status: 404,
  },
  {
    does: "does not get a consumer if the body names none",
    ask: "POST /consumer_groups/gold/consumers",
    json: {},
    status: 400,
    message: "set consumer to a name or an id",
  },
  {
    does: "does not get a consumer from a body with an unknown member",
    ask: "POST /consumer_groups/gold/consumers",
    json: { consumer: "base", tags: ["a"] },
    status: 400,
    has: { fields: { tags: "unknown field" } },
  },
  {
    does: "is added to a consumer by a form",
    ask: "POST /consumers/base/consumer_groups",
    form: "group=silver",
    status: 201,
    has: { consumer: base, consumer_groups: [{ ...silver, name: "silver" }] },
  },
  {
    does: "is shown with a consumer that was added to it",
    ask: "GET /consumer_groups/gold",
    status: 200,
    has: { consumer_group: gold, consumers: [base] },
  },
  {
    does: "lists its consumers",
    ask: "GET /consumer_groups/gold/consumers",
    status: 200,
    has: { data: [{ ...base, username: "base" }], next: null },
  },
  {
    does: "is listed in pages below its consumer",
    ask: "GET /consumers/base/consumer_groups?size=1",
    status: 200,
    matches: { next: /^\/consumers\/base\/consumer_groups\?offset=/ },
  },
  {
    does: "shows one of its consumers",
    ask: "GET /consumer_groups/gold/consumers/base",
    status: 200,
    has: base,
  },
  {
    does: "is shown below its consumer",
    ask: "GET /consumers/base/consumer_groups/silver",
    status: 200,
    has: silver,
  },
  { does: "does not allow PUT of a consumer", ask: "PUT /consumer_groups/gold/consumers/base", json: {}, status: 405 },
  {
    does: "keeps its consumers when it is renamed",
    ask: "PATCH /consumer_groups/gold",
    json: { name: "platinum" },
    status: 200,
    has: gold,
  },
  {
    does: "lists its consumers after it was renamed",
    ask: "GET /consumer_groups/platinum/consumers",
    status: 200,
    has: { data: [base] },
  },
  { does: "loses a consumer", ask: "DELETE /consumers/base/consumer_groups/silver", status: 204 },
  { does: "does not lose a consumer twice", ask: "DELETE /consumer_groups/silver/consumers/base", status: 404 },
  { does: "loses all consumers", ask: "DELETE /consumer_groups/platinum/consumers", status: 204 },
  {
    does: "is not listed below a consumer that it lost",
    ask: "GET /consumers/base/consumer_groups",
    status: 200,
    body: { data: [], next: null },
  },
];

const limits = { minute: 5, policy: "redis", redis: { host: "redis.example" } };

const plugins: readonly AdminRow[] = [
  {
    does: "gets a plugin",
    ask: "POST /consumer_groups/platinum/plugins",
    json: { name: "rate-limiting", config: limits },
    status: 201,
    has: { consumer_group: gold, consumer: null },
  },
  {
    does: "does not get the same plugin twice",
    ask: "POST /plugins",
    json: { name: "rate-limiting", config: limits, consumer_group: { name: "platinum" } },
    status: 409,
  },
  {
    does: "gets the same plugin again for one service only",
    ask: "POST /services/base/plugins",
    json: { name: "rate-limiting", config: limits, consumer_group: { name: "platinum" } },
    status: 201,
    has: { consumer_group: gold, service: { id: ids.service } },
  },
  {
    does: "does not get a plugin that cannot be attached to consumers",
    ask: "POST /consumer_groups/platinum/plugins",
    json: { name: "key-auth" },
    status: 400,
    has: { fields: { consumer_group: "value must be null" } },
  },
  {
    does: "does not share a plugin with a consumer",
    ask: "POST /consumers/base/plugins",
    json: { name: "request-termination", consumer_group: gold },
    status: 400,
    has: { fields: { consumer_group: "a plugin cannot be attached to both a consumer and a consumer group" } },
  },
  {
    does: "gets a consumer again",
    ask: "POST /consumer_groups/platinum/consumers",
    json: { consumer: "base" },
    status: 201,
  },
  { does: "is removed", ask: "DELETE /consumer_groups/platinum", status: 204 },
  {
    does: "is removed with its memberships",
    ask: "GET /consumers/base/consumer_groups",
    status: 200,
    body: { data: [], next: null },
  },
  {
    does: "is removed with its plugins",
    ask: "GET /services/base/plugins",
    status: 200,
    has: { data: [{ name: "cors" }], next: null },
  },
  {
    does: "gets a consumer that a later test removes",
    ask: "POST /consumer_groups/silver/consumers",
    json: { consumer: "base" },
    status: 201,
    has: { consumer_group: silver, consumers: [base] },
  },
  { does: "allows the removal of its consumer", ask: "DELETE /consumers/base", status: 204 },
  {
    does: "is still found after its consumer was removed",
    ask: "GET /consumer_groups/silver",
    status: 200,
    has: { consumer_group: silver, consumers: [] },
  },
  {
    does: "lists no consumer after its consumer was removed",
    ask: "GET /consumer_groups/silver/consumers",
    status: 200,
    body: { data: [], next: null },
  },
  { does: "does not show a consumer that was removed", ask: "GET /consumer_groups/silver/consumers/base", status: 404 },
  {
    does: "(preparation: a POST creates the removed consumer again, with the same id)",
    ask: "POST /consumers",
    json: { username: "base" },
    status: 201,
    has: base,
  },
  {
    does: "lost a removed consumer permanently: the consumer that is created again is in no group",
    ask: "GET /consumers/base/consumer_groups",
    status: 200,
    body: { data: [], next: null },
  },
  {
    does: "does not list a consumer that was removed and created again",
    ask: "GET /consumer_groups/silver/consumers",
    status: 200,
    body: { data: [], next: null },
  },
];

export const groupsWithPluginsTable: AdminTable = {
  of: "a consumer group",
  rows: [...definition, ...members, ...plugins],
};
