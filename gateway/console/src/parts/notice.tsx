/** A message in a page. */
import type { ComponentChildren } from "preact";

interface NoticeProps {
  readonly kind: "error" | "warning" | "info" | "good";
  readonly children: ComponentChildren;
}

const signs: Readonly<Record<NoticeProps["kind"], string>> = { error: "✕", warning: "!", info: "i", good: "✓" };

export const Notice = ({ kind, children }: NoticeProps) => (
  <div class={`notice ${kind}`} role={kind === "error" ? "alert" : undefined}>
    <span class="sign" aria-hidden="true">
      {signs[kind]}
    </span>
    <div>{children}</div>
  </div>
);
