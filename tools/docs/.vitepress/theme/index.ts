/** The default theme, and the diagrams of pages: Mermaid draws them in the browser, from the site's own files. */
import { useData } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { defineComponent, h, onMounted, ref, useId, watch } from "vue";

const MermaidDiagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup({ source }) {
    const { isDark } = useData();
    const id = `diagram-${useId()}`;
    const drawing = ref("");
    async function draw() {
      const { default: mermaid } = await import("mermaid");
      // HTML labels would take the line height of the page, and be cut off.
      mermaid.initialize({ startOnLoad: false, htmlLabels: false, theme: isDark.value ? "dark" : "neutral" });
      drawing.value = (await mermaid.render(id, decodeURIComponent(source))).svg;
    }
    onMounted(() => {
      void draw();
      watch(isDark, draw);
    });
    // Until the diagram is drawn, and for readers without scripts, its text is shown.
    return () =>
      drawing.value === ""
        ? h("pre", { class: "mermaid-text" }, decodeURIComponent(source))
        : h("div", { class: "mermaid-diagram", innerHTML: drawing.value });
  },
});

export default {
  extends: DefaultTheme,
  enhanceApp({ app }: { app: { component(name: string, component: unknown): void } }) {
    app.component("MermaidDiagram", MermaidDiagram);
  },
};
