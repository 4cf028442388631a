/** How Vite builds the console. `tools/build/console.ts` runs it. */
export default {
  // Relative URLs: the console works below every path prefix.
  base: "./",
  build: {
    outDir: "build",
    target: "es2023",
    // The content security policy allows no `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
};
