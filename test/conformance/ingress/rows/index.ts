/** All rows. A file of this folder has those of one group of annotations. */
import type { IngressRow } from "../row.ts";
import { accessRows } from "./access.ts";
import { authServerRows } from "./auth-servers.ts";
import { bodyRows } from "./bodies.ts";
import { canaryRows } from "./canaries.ts";
import { corsRows } from "./cors.ts";
import { failureRows } from "./failures.ts";
import { headerRows } from "./headers.ts";
import { hostRows } from "./hosts.ts";
import { limitRows } from "./limits.ts";
import { passwordRows } from "./passwords.ts";
import { pathRows } from "./paths.ts";
import { redirectRows } from "./redirects.ts";
import { regexRows } from "./regexes.ts";
import { rewriteRows } from "./rewrites.ts";

export const ingressRows: readonly IngressRow[] = [
  ...pathRows,
  ...regexRows,
  ...rewriteRows,
  ...hostRows,
  ...headerRows,
  ...bodyRows,
  ...failureRows,
  ...accessRows,
  ...limitRows,
  ...passwordRows,
  ...authServerRows,
  ...redirectRows,
  ...corsRows,
  ...canaryRows,
];
