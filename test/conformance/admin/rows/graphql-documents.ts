/** GraphQL documents: the lists of documents to which the plugin graphql can limit requests. */
import { deriveId } from "@sluice/model";
import type { AdminTable } from "../row.ts";

const mine = { id: deriveId("graphql_documents", "web") };
const relay = JSON.stringify({ users: "query Users { users { name } }" });
const apollo = JSON.stringify({
  format: "apollo-persisted-query-manifest",
  version: 1,
  operations: [{ id: "clear", name: "Clear", type: "mutation", body: "mutation Clear { clear }" }],
});

export const graphqlDocumentsTable: AdminTable = {
  of: "a list of GraphQL documents",
  rows: [
    {
      does: "is created by POST",
      ask: "POST /graphql_documents",
      json: { name: "web", manifest: relay, tags: ["blue"] },
      status: 201,
      has: { ...mine, name: "web", manifest: relay, tags: ["blue"] },
    },
    {
      does: "is created by PUT under its name",
      ask: "PUT /graphql_documents/mobile",
      json: { manifest: apollo },
      status: 200,
      has: { id: deriveId("graphql_documents", "mobile"), name: "mobile", manifest: apollo, tags: null },
    },
    {
      does: "is created from a form",
      ask: "POST /graphql_documents",
      form: `name=form&manifest=${encodeURIComponent(relay)}&tags[]=a`,
      status: 201,
      has: { name: "form", manifest: relay, tags: ["a"] },
    },
    {
      does: "is listed in pages",
      ask: "GET /graphql_documents?size=1",
      status: 200,
      matches: { next: /^\/graphql_documents\?offset=/ },
    },
    { does: "is found by its name", ask: "GET /graphql_documents/web", status: 200, has: mine },
    { does: "is found by its id", ask: `GET /graphql_documents/${mine.id}`, status: 200, has: { name: "web" } },
    { does: "is not found by an unknown name", ask: "GET /graphql_documents/other", status: 404 },
    {
      does: "gets a new manifest by PATCH",
      ask: "PATCH /graphql_documents/web",
      json: { manifest: apollo },
      status: 200,
      has: { ...mine, manifest: apollo, tags: ["blue"] },
    },
    {
      does: "cannot have the name of another one",
      ask: "POST /graphql_documents",
      json: { name: "web", manifest: relay },
      status: 409,
      message: `UNIQUE violation detected on '{name="web"}'`,
    },
    {
      does: "needs a name and a manifest",
      ask: "POST /graphql_documents",
      json: {},
      status: 400,
      has: { fields: { manifest: "required field missing", name: "required field missing" } },
    },
    {
      does: "cannot have a manifest of another format",
      ask: "PATCH /graphql_documents/web",
      json: { manifest: '{"format":"other"}' },
      status: 400,
      has: { fields: { manifest: "the format must be apollo-persisted-query-manifest" } },
    },
    {
      does: "need not exist when a plugin refers to it",
      ask: "POST /plugins",
      json: { name: "graphql", config: { trusted_documents: { documents: ["absent"] } } },
      status: 201,
      has: { name: "graphql" },
    },
    { does: "is removed by its name", ask: "DELETE /graphql_documents/web", status: 204 },
    { does: "is no longer found", ask: `GET /graphql_documents/${mine.id}`, status: 404 },
  ],
};
