/** All tables, in the order in which they run. */
import type { Table } from "./row.ts";
import { batches } from "./rows/batches.ts";
import { bodies } from "./rows/bodies.ts";
import { caCertificates } from "./rows/ca-certificates.ts";
import { certificates } from "./rows/certificates.ts";
import { changing } from "./rows/changing.ts";
import { conditions } from "./rows/conditions.ts";
import { groupsWithPlugins } from "./rows/consumer-groups.ts";
import { creating } from "./rows/creating.ts";
import { consumerEntries, consumerGroups, credentials, secondConsumer } from "./rows/credentials.ts";
import { explaining } from "./rows/explaining.ts";
import { foreign } from "./rows/foreign.ts";
import { forms } from "./rows/forms.ts";
import { information } from "./rows/information.ts";
import { malice } from "./rows/malice.ts";
import { missing } from "./rows/missing.ts";
import { mtlsAuthCredentials } from "./rows/mtls-auth.ts";
import { planning } from "./rows/planning.ts";
import { pluginCredentials } from "./rows/plugin-credentials.ts";
import { plugins } from "./rows/plugins.ts";
import { problems } from "./rows/problems.ts";
import { reading } from "./rows/reading.ts";
import { recentRequests } from "./rows/recent-requests.ts";
import { refusals } from "./rows/refusals.ts";
import { removing } from "./rows/removing.ts";
import { replacing } from "./rows/replacing.ts";
import { revising } from "./rows/revising.ts";
import { tags } from "./rows/tags.ts";
import { upstreamHeaders } from "./rows/upstream-headers.ts";
import { upstreams } from "./rows/upstreams.ts";
import { vaults } from "./rows/vaults.ts";

export const tables: readonly Table[] = [
  reading,
  creating,
  replacing,
  changing,
  removing,
  foreign,
  conditions,
  tags,
  forms,
  certificates,
  caCertificates,
  upstreams,
  upstreamHeaders,
  credentials,
  consumerEntries,
  mtlsAuthCredentials,
  secondConsumer,
  pluginCredentials,
  consumerGroups,
  groupsWithPlugins,
  vaults,
  plugins,
  planning,
  batches,
  revising,
  missing,
  information,
  explaining,
  problems,
  recentRequests,
  refusals,
  bodies,
  malice,
];
