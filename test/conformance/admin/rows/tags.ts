/** Tags as filters of lists, and the lists of tags themselves. */
import { deriveId } from "@sluice/model";
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const invalid = (why: string) => ({
  code: 11,
  name: "invalid options",
  message: `invalid option (tags: ${why})`,
  options: { tags: why },
});

/** The services that exist after the first two rows, in the order of their ids, with their tags. */
const services = Object.entries({
  base: ["base", "blue"],
  two: ["blue", "größe", "two words"],
  three: ["red"],
})
  .map(([name, tags]) => ({ id: deriveId("services", name), tags }))
  .toSorted((one, other) => (one.id < other.id ? -1 : 1));
const ofService = (tag: string, entity_id: string) => ({ tag, entity_name: "services", entity_id });
/** The tags that exist when the rows request lists of tags, in the order of these lists. */
const all = [
  ...services.flatMap(({ id, tags }) => tags.map((tag) => ofService(tag, id))),
  { tag: "blue", entity_name: "consumers", entity_id: ids.consumer },
];
const blue = all.filter(({ tag }) => tag === "blue");

export const tagsTable: AdminTable = {
  of: "a tag",
  rows: [
    {
      does: "is added to another service",
      ask: "POST /services",
      json: { name: "two", host: "a", tags: ["blue", "two words", "größe"] },
      status: 201,
    },
    {
      does: "is added to a third service",
      ask: "POST /services",
      json: { name: "three", host: "a", tags: ["red"] },
      status: 201,
    },
    {
      does: "filters a list",
      ask: "GET /services?tags=base",
      status: 200,
      has: { data: [{ name: "base" }], next: null },
    },
    {
      does: "with a second tag after a comma filters for entities with both",
      ask: "GET /services?tags=blue,base&size=1",
      status: 200,
      has: { data: [{ name: "base" }], next: null },
    },
    {
      does: "with a second tag after a slash filters for entities with either",
      ask: "GET /services?tags=red/two%20words&size=2",
      status: 200,
      has: { data: services.flatMap(({ id }) => (id === ids.service ? [] : [{ id }])), next: null },
    },
    {
      does: "with a second tag after a comma finds nothing if no entity has both",
      ask: "GET /services?tags=red,blue",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "finds no entity for an unused tag",
      ask: "GET /services?tags=nobody",
      status: 200,
      body: { data: [], next: null },
    },
    { does: "may contain a space", ask: "GET /services?tags=two+words", status: 200, has: { data: [{ name: "two" }] } },
    {
      does: "may contain characters beyond ASCII",
      ask: "GET /services?tags=gr%C3%B6%C3%9Fe",
      status: 200,
      has: { data: [{ name: "two" }] },
    },
    {
      does: "is read from the first argument `tags` if a URL has several",
      ask: "GET /services?tags=base&tags=red",
      status: 200,
      has: { data: [{ name: "base" }] },
    },
    {
      does: "may contain SQL quotes, and finds no entity",
      ask: "GET /services?tags=%27%20OR%201%3D1--",
      status: 200,
      body: { data: [], next: null },
    },
    { does: "must not be empty", ask: "GET /services?tags=", status: 400, body: invalid("cannot be null") },
    {
      does: "must not be in a list with both commas and slashes",
      ask: "GET /services?tags=a,b/c",
      status: 400,
      body: invalid("invalid filter syntax"),
    },
    {
      does: "must not be only a comma",
      ask: "GET /services?tags=,",
      status: 400,
      body: invalid("invalid filter syntax"),
    },
    {
      does: "filters consumers too",
      ask: "GET /consumers?tags=blue",
      status: 200,
      has: { data: [{ username: "base" }] },
    },
    {
      does: "does not filter a nested list, as in Kong",
      ask: "GET /services/base/routes?tags=nobody",
      status: 200,
      has: { data: [{ name: "base" }] },
    },
    {
      does: "is kept in the URL of the next page, with the size",
      ask: "GET /services?tags=blue&size=1",
      status: 200,
      matches: { next: /^\/services\?offset=[^&]+&tags=blue&size=1$/ },
    },
    {
      does: "must not contain a comma",
      ask: "PATCH /services/three",
      json: { tags: ["a,b"] },
      status: 400,
      has: {
        fields: { tags: ["invalid tag 'a,b': expected printable ascii (except `,` and `/`) or valid utf-8 sequences"] },
      },
    },
    {
      does: "must not be a number",
      ask: "PATCH /services/three",
      json: { tags: [1] },
      status: 400,
      has: { fields: { tags: ["expected a string"] } },
    },
    {
      does: "that is given twice is stored once",
      ask: "PATCH /services/three",
      json: { tags: ["red", "red"] },
      status: 200,
      has: { tags: ["red"] },
    },
    {
      does: "is listed with the entities that have it",
      ask: "GET /tags/red",
      status: 200,
      has: { data: [{ tag: "red", entity_name: "services" }], next: null },
    },
    {
      does: "is listed on one page if the size allows it",
      ask: "GET /tags/blue?size=1000",
      status: 200,
      body: { data: blue, next: null },
    },
    {
      does: "is listed page by page, and the argument tags is ignored",
      ask: "GET /tags/blue?size=1&tags=ignored",
      status: 200,
      has: { data: blue.slice(0, 1) },
      matches: { next: /^\/tags\/blue\?offset=[^&]+&size=1$/ },
    },
    {
      does: "that no entity has gives an empty list",
      ask: "GET /tags/nobody",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "in the URL may be percent-encoded",
      ask: "GET /tags/two%20words",
      status: 200,
      has: { data: [{ tag: "two words" }] },
    },
    {
      does: "in the URL must be a valid tag",
      ask: "GET /tags/a%2Cb",
      status: 400,
      has: { code: 10, name: "invalid unique tag" },
    },
    { does: "in the URL must be UTF-8", ask: "GET /tags/%ff", status: 400 },
    {
      does: "is listed with all tags on one page by default",
      ask: "GET /tags",
      status: 200,
      body: { data: all, next: null },
    },
    {
      does: "is listed in pages",
      ask: "GET /tags?size=1",
      status: 200,
      has: { data: [{ entity_name: "services" }] },
      matches: { next: /^\/tags\?offset=[^&]+&size=1$/ },
    },
    { does: "is not listed with a page size out of bounds", ask: "GET /tags?size=0", status: 400, has: { code: 9 } },
    { does: "is not listed from an invalid offset", ask: "GET /tags?offset=bm8%3D", status: 400, has: { code: 7 } },
    { does: "cannot be written separately", ask: "POST /tags", json: {}, status: 405 },
    { does: "is removed with its entity", ask: "DELETE /services/three", status: 204 },
    {
      does: "is no longer listed once its entity is removed",
      ask: "GET /tags/red",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "is not needed to filter: custom_id finds a consumer",
      ask: "GET /consumers?custom_id=base-42",
      status: 200,
      has: { data: [{ id: ids.consumer }], next: null },
    },
    {
      does: "is not needed to filter: an unused custom_id finds nothing",
      ask: "GET /consumers?custom_id=x",
      status: 200,
      body: { data: [], next: null },
    },
    {
      does: "is not needed to filter, but an empty custom_id is refused",
      ask: "GET /consumers?custom_id=",
      status: 400,
      body: { message: "custom_id must be an unempty string" },
    },
  ],
};
