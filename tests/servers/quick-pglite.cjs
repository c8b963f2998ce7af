// @ts-check
const { setFlagsFromString } = require('node:v8')

// Loaded first by every process of the tests (NODE_OPTIONS, vitest.config.ts). V8 compiles a PGlite twice: quickly, and then for speed what
// runs often. The second is more than half of the processor time of a PGlite that answers a thousand statements, as those of tests do, and
// never pays in it: left out, 1,500 statements took 1.2 s instead of 2.4 s.
if (/[\\/]pglite-main\.js$/.test(process.argv[1] ?? '')) {
  for (const flag of ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
}
