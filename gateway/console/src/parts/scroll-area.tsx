/** An area that scrolls by itself. It takes the focus, because the keyboard could not scroll it otherwise. */
import type { ComponentChildren, RefObject } from "preact";

interface ScrollAreaProps {
  readonly label: string;
  readonly class?: string;
  readonly area?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}

export const ScrollArea = ({ label, area, children, ...rest }: ScrollAreaProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see the comment above.
  <section class={rest.class} ref={area} tabIndex={0} aria-label={label}>
    {children}
  </section>
);
