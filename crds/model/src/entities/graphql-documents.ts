/** The documents of a client of a GraphQL service, to which the plugin graphql can limit requests. */
import { record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "./common-members.ts";

/**
 * Maximum characters of a manifest. Each quotation mark of a manifest has a backslash in JSON, and Kubernetes stores
 * objects of up to 1.5 MiB (https://etcd.io/docs/v3.5/dev-guide/limit/).
 */
export const MAX_MANIFEST = 1_000_000;

export const graphqlDocumentsSchema = record(
  {
    id: idMember("the name"),
    created_at,
    updated_at,
    name: text({
      description: "A unique name, by which configs of the plugin graphql refer to the documents.",
      rule: "name",
      minLength: 1,
      maxLength: 256,
    }),
    manifest: text({
      description:
        "The documents and their ids as JSON: Apollo's persisted query manifest, or an object with the texts by their " +
        "ids, as Relay's compiler writes it. A longer list is divided among several entities.",
      rule: "graphql-manifest",
      minLength: 1,
      maxLength: MAX_MANIFEST,
    }),
    tags: tagsMember,
  },
  { description: "The documents of a client of a GraphQL service, to which the plugin graphql can limit requests." },
);

export type GraphqlDocuments = Static<typeof graphqlDocumentsSchema>;
