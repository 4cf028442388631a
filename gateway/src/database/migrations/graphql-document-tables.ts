/** The table of GraphQL documents, with the triggers of revision-tables.ts. */
export const graphqlDocumentTables = `
create table graphql_documents (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text not null constraint graphql_documents_name_key unique,
  manifest text not null,
  tags text[]
);
create index graphql_documents_tags on graphql_documents using gin (tags);
create trigger log_inserted after insert on graphql_documents referencing new table as added
  for each statement execute function log_inserted();
create trigger log_updated after update on graphql_documents referencing old table as removed new table as added
  for each statement execute function log_updated();
create trigger log_deleted after delete on graphql_documents referencing old table as removed
  for each statement execute function log_deleted();
create trigger log_truncate after truncate on graphql_documents
  for each statement execute function log_truncate();
`;
