/** Generates the reference page of the annotations of Kong's ingress controller from their table. */
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { kongAnnotations } from "../../../gateway/src/commands/migrate/kubernetes/convert/annotation-table.ts";

const intro = `# Annotations of Kong's ingress controller

\`sluice migrate kubernetes\` converts the objects of Kong's ingress controller 3.x to resources of Sluice ([how](../how-to/leave-kong-ingress-controller.md)). Each annotation becomes a field of a [resource](resources.md). An invalid value has no effect, as in Kong, and is reported.`;

export function kongIngressControllerPage(): GeneratedFile {
  const rows = Object.entries(kongAnnotations)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { on, becomes, differs, absent }]) => {
      const notes = [becomes, ...[differs, absent].flatMap((note) => (note === undefined ? [] : [sentence(note)]))];
      return `| \`${name}\` | ${on.join(", ")} | ${notes.join(" ")} |`;
    });
  const table = ["| annotation | at | becomes |", "|---|---|---|", ...rows].join("\n");
  return generatedPage(
    "docs/reference/kong-ingress-controller.md",
    [intro, table].join("\n\n"),
    "gateway/src/commands/migrate/kubernetes/convert/annotation-table.ts",
  );
}

const sentence = (note: string): string => `${note[0]?.toUpperCase()}${note.slice(1)}.`;
