/** The custom resource GraphQLDocuments. The documents are in its spec, because clients of a service know them. */
import type { GraphqlDocuments } from "../entities/index.ts";
import { type CommonSpec, commonSpecMembers, stateColumns } from "./common-spec.ts";
import { type Derived, type KindFacts, specOf } from "./kind.ts";

export type GraphQLDocumentsSpec = CommonSpec & Derived<GraphqlDocuments>;

export const graphqlDocumentsKind: KindFacts = {
  collection: "graphql_documents",
  shortName: "gwgql",
  spec: specOf("graphql_documents", {
    add: commonSpecMembers(
      "The name by which configs of the plugin graphql refer to the documents, unique across namespaces. Default: " +
        "metadata.name in Sluice's home namespace, <namespace>.<metadata.name> elsewhere. Outside the home namespace " +
        "it must begin with <namespace> and a dot.",
    ),
    required: ["manifest"],
  }),
  columns: [
    { name: "Documents", jsonPath: ".spec.name", description: "The name of the documents, if set by spec.name." },
    ...stateColumns,
  ],
};
