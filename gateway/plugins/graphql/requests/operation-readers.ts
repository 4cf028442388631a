/** Chooses the reader of requests by the schema of the service, and by the entities that the config names. */
import type { Exchange } from "@sluice/plugin-sdk";
import type { ServiceSchema } from "../cost/service-schema.ts";
import { DocumentCache } from "../documents.ts";
import { PurgeRules } from "../purge/purge-rules.ts";
import type { GraphqlConfig } from "../schema.ts";
import { type TrustedDocumentLists, TrustedDocumentSource } from "../trusted-documents.ts";
import { OperationReader } from "./request-operations.ts";

/** A reader, or a clause about the part of the configuration that is missing. */
export type ChosenReader = { readonly reader: OperationReader } | { readonly missing: string };

interface KnownReader {
  readonly documents: DocumentCache;
  readonly trusted: TrustedDocumentLists | null;
  readonly reader: OperationReader;
}

/** Chooses the reader for an exchange: it follows the schema of the service, and the entities that the config names. */
export class OperationReaders {
  readonly #config: GraphqlConfig;
  readonly #source: TrustedDocumentSource | null;
  readonly #purge: PurgeRules | null;
  /** The documents with the costs by one schema. */
  #documents: { readonly schema: ServiceSchema; readonly cache: DocumentCache } | null = null;
  #last: KnownReader | null = null;

  constructor(config: GraphqlConfig) {
    this.#config = config;
    const { trusted_documents: trusted, purge } = config;
    this.#purge = purge === null ? null : new PurgeRules(purge);
    this.#source = trusted === null ? null : new TrustedDocumentSource(trusted);
  }

  /** @param schema The schema of the service, which is the same object until it changes */
  for(exchange: Pick<Exchange, "graphqlDocuments">, schema: ServiceSchema): ChosenReader {
    const { trusted = null, missing = [] } = this.#source?.in(exchange) ?? {};
    const isRequired = this.#config.enforce && this.#config.trusted_documents?.mode === "require";
    if (missing.length > 0 && isRequired)
      return { missing: `there are no GraphQL documents with the name or id ${missing.join(" or ")}` };
    const documents = this.#documentsBy(schema);
    if (this.#last?.documents === documents && this.#last.trusted === trusted) return this.#last;
    this.#last = { documents, trusted, reader: new OperationReader(this.#config, documents, trusted) };
    return this.#last;
  }

  #documentsBy(schema: ServiceSchema): DocumentCache {
    if (this.#documents?.schema === schema) return this.#documents.cache;
    const { list_size: listSize, slicing_arguments: slicingArguments } = this.#config;
    const cache = new DocumentCache(this.#config, { schema, listSize, slicingArguments, purge: this.#purge });
    this.#documents = { schema, cache };
    return cache;
  }
}
