import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** `npm run dashboard` serves the sources, with the API of a service that runs on the usual port. */
const admin = process.env.SLUICE_ADMIN ?? 'http://localhost:8082'

export default defineConfig({
  root: at('.'),
  resolve: {
    // The playground runs the algorithms of the library themselves.
    alias: [{ find: /^sluice\/internal\/(.+)$/, replacement: `${at('../src')}/$1.ts` }],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: at('../server/dist/dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    // The pages' policy allows no inline code and no data in place of files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // What every page uses is one file: it compresses better than thirty small ones. Plots, which only some pages draw, are apart.
      output: {
        codeSplitting: { groups: [{ name: 'kit', test: /dashboard\/src\/(?:api|format|kit|state|ui\/(?!plot))/ }] },
      },
    },
  },
  server: { proxy: { '/admin': { target: admin, changeOrigin: false } } },
})
