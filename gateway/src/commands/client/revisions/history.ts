/** `sluice history`: the revisions of the store, the changes of one, or the difference of two. */
import { escapeControlCharacters } from "@sluice/model/serving";
import type { PlanSummary } from "../../../admin/plan/plan.ts";
import { clientSettings } from "../../../settings/commands/client.ts";
import type { RevisionCounts } from "../../../stores/revisions/revisions.ts";
import { CommandError, defineCommand, UsageError } from "../../command.ts";
import { formatData, formatTable, styledText } from "../../terminal/output.ts";
import { type AdminConnection, withAdmin } from "../admin-connection.ts";
import { differenceText, hasNoChanges, labelOfChange } from "../plan-text.ts";
import { givenNumber } from "../requests/given-request.ts";
import { revisionNumber, withoutRevisions } from "./revision-number.ts";

/** A revision as the admin API lists it. */
interface ListedRevision {
  readonly number: number;
  readonly time: string;
  readonly author: string;
  readonly counts: RevisionCounts | null;
}

/** One revision: its changes, or the reason why they are unknown. */
type ShownRevision = ListedRevision & (PlanSummary | { readonly reason: string });

/** The response to GET /revisions/N/difference. */
interface RevisionDifference extends PlanSummary {
  readonly from: number;
  readonly to: number;
}

/** The maximum size of a page. */
const PAGE = 1000;

/** Number of changed entities that the format wide names for each revision. */
const NAMED = 3;

export const historyCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const [number, other] = positionals.map(revisionNumber);
    const { output } = options;
    if (number !== undefined) {
      const unusable = ["author", "before", "limit"].find((name) => options[name] !== undefined);
      if (unusable !== undefined)
        throw new UsageError(`--${unusable} selects revisions of the list: leave out the numbers`);
    }
    const text = await withAdmin(call, (admin) =>
      withoutRevisions(async () => {
        if (number === undefined) return listText(admin, options);
        const shown =
          other === undefined ? await readRevision(admin, number) : await readDifference(admin, number, other);
        if (output === "yaml" || output === "json") return formatData(output, shown);
        return "from" in shown ? differenceOfTwo(shown) : revisionText(shown);
      }),
    );
    call.print(text);
    return undefined;
  },
});

type Options = Parameters<typeof historyCommand.run>[0]["given"]["options"];

async function listText(admin: AdminConnection, { author, before, limit = "20", output }: Options): Promise<string> {
  const selection = {
    ...(typeof author === "string" && { author }),
    ...(before !== undefined && { before: givenNumber("before", before) }),
    limit: givenNumber("limit", limit, { minimum: 1 }),
  };
  const { found, more } = await readRevisions(admin, selection);
  if (output === "yaml" || output === "json") return formatData(output, found);
  const isWide = output === "wide";
  const rows: (readonly string[])[] = [];
  for (const revision of found) {
    const { number, time, author: name, counts } = revision;
    const entities = isWide ? [entitiesText(await readRevision(admin, number))] : [];
    rows.push([String(number), time, name, countsText(counts), ...entities]);
  }
  const older = more ? `Older revisions: add --before ${found.at(-1)?.number}\n` : "";
  return `${formatTable([["NUMBER", "TIME", "AUTHOR", "CHANGES", ...(isWide ? ["ENTITIES"] : [])], ...rows])}${older}`;
}

interface Selection {
  readonly author?: string;
  readonly before?: number;
  readonly limit: number;
}

/**
 * The newest revisions of a selection, newest first. They are selected here, because the admin API can only list all
 * revisions (at most 10,000).
 */
async function readRevisions(admin: AdminConnection, { author, before = Infinity, limit }: Selection) {
  const found: ListedRevision[] = [];
  for (let next: string | null = `/revisions?size=${PAGE}`; next !== null; ) {
    const page: { readonly data: readonly ListedRevision[]; readonly next: string | null } | null =
      await admin.read(next);
    if (page === null) throw new CommandError(`${admin.url} lists no revisions: upgrade the admin API`);
    for (const revision of page.data) {
      if (revision.number >= before || (author !== undefined && !revision.author.includes(author))) continue;
      if (found.length === limit) return { found, more: true };
      found.push(revision);
    }
    next = page.next;
  }
  return { found, more: false };
}

async function readRevision(admin: AdminConnection, number: number): Promise<ShownRevision> {
  const revision = await admin.read<ShownRevision>(`/revisions/${number}`);
  if (revision === null) throw new CommandError(`there is no revision ${number}: ${LISTED}`);
  return revision;
}

async function readDifference(admin: AdminConnection, from: number, to: number): Promise<RevisionDifference> {
  const difference = await admin.read<RevisionDifference>(`/revisions/${to}/difference?since=${from}`);
  if (difference === null) throw new CommandError(`there is no revision ${from}, or no revision ${to}: ${LISTED}`);
  return difference;
}

const LISTED = "`sluice history` lists the revisions that are kept";

function countsText(counts: RevisionCounts | null): string {
  if (counts === null) return "not kept";
  const words = Object.entries(counts).filter(([, count]) => count > 0);
  return words.map(([word, count]) => `${count} ${word}`).join(", ") || "-";
}

/** `~services/shop -routes/shop and 4 more` */
function entitiesText(revision: ShownRevision): string {
  if ("reason" in revision) return "-";
  const { created, changed, deleted } = revision;
  const all = [
    ...created.map((entity) => `+${labelOfChange(entity)}`),
    ...changed.map((entity) => `~${labelOfChange(entity)}`),
    ...deleted.map((entity) => `-${labelOfChange(entity)}`),
  ];
  const more = all.length > NAMED ? ` and ${all.length - NAMED} more` : "";
  return `${all.slice(0, NAMED).join(" ")}${more}` || "-";
}

function revisionText(revision: ShownRevision): string {
  const { number, time, author, counts } = revision;
  const facts = `Revision:  ${number}\nTime:      ${time}\nAuthor:    ${escapeControlCharacters(author)}\nChanges:   ${countsText(counts)}\n`;
  if ("reason" in revision) return `${facts}\n${styledText("yellow", `${revision.reason}.`)}\n`;
  return hasNoChanges(revision) ? facts : `${facts}\n${differenceText(revision)}`;
}

function differenceOfTwo(difference: RevisionDifference): string {
  const { from, to } = difference;
  const title = styledText("bold", `From revision ${from} to revision ${to}:`);
  return `${title}\n${hasNoChanges(difference) ? "no difference\n" : differenceText(difference)}`;
}
