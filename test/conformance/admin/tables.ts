/** All tables, in the order in which they run. */
import type { AdminTable } from "./row.ts";
import { acmeTable } from "./rows/acme.ts";
import { batchesTable } from "./rows/batches.ts";
import { bodiesTable } from "./rows/bodies.ts";
import { caCertificateTable } from "./rows/ca-certificates.ts";
import { certificatesTable } from "./rows/certificates.ts";
import { changingTable } from "./rows/changing.ts";
import { conditionsTable } from "./rows/conditions.ts";
import { groupsWithPluginsTable } from "./rows/consumer-groups.ts";
import { creatingTable } from "./rows/creating.ts";
import {
  consumerEntriesTable,
  consumerGroupsTable,
  credentialsTable,
  secondConsumerTable,
} from "./rows/credentials.ts";
import { explainingTable } from "./rows/explaining.ts";
import { foreignTable } from "./rows/foreign.ts";
import { formsTable } from "./rows/forms.ts";
import { graphqlDocumentsTable } from "./rows/graphql-documents.ts";
import { informationTable } from "./rows/information.ts";
import { maliceTable } from "./rows/malice.ts";
import { missingTable } from "./rows/missing.ts";
import { mtlsAuthCredentialsTable } from "./rows/mtls-auth.ts";
import { planningTable } from "./rows/planning.ts";
import { pluginCredentialsTable } from "./rows/plugin-credentials.ts";
import { pluginProtocolsTable } from "./rows/plugin-protocols.ts";
import { pluginsTable } from "./rows/plugins.ts";
import { problemsTable } from "./rows/problems.ts";
import { readingTable } from "./rows/reading.ts";
import { recentRequestsTable } from "./rows/recent-requests.ts";
import { refusalsTable } from "./rows/refusals.ts";
import { removingTable } from "./rows/removing.ts";
import { replacingTable } from "./rows/replacing.ts";
import { revisingTable } from "./rows/revising.ts";
import { tagsTable } from "./rows/tags.ts";
import { trafficLimitsTable } from "./rows/traffic-limits.ts";
import { upstreamHeadersTable } from "./rows/upstream-headers.ts";
import { upstreamsTable } from "./rows/upstreams.ts";
import { vaultsTable } from "./rows/vaults.ts";

export const tables: readonly AdminTable[] = [
  readingTable,
  creatingTable,
  replacingTable,
  changingTable,
  removingTable,
  foreignTable,
  conditionsTable,
  tagsTable,
  formsTable,
  certificatesTable,
  acmeTable,
  caCertificateTable,
  upstreamsTable,
  upstreamHeadersTable,
  trafficLimitsTable,
  credentialsTable,
  consumerEntriesTable,
  mtlsAuthCredentialsTable,
  secondConsumerTable,
  pluginCredentialsTable,
  consumerGroupsTable,
  groupsWithPluginsTable,
  vaultsTable,
  graphqlDocumentsTable,
  pluginsTable,
  pluginProtocolsTable,
  planningTable,
  batchesTable,
  revisingTable,
  missingTable,
  informationTable,
  explainingTable,
  problemsTable,
  recentRequestsTable,
  refusalsTable,
  bodiesTable,
  maliceTable,
];
