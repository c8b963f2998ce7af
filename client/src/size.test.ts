import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'

const index = fileURLToPath(new URL('./index.ts', import.meta.url))
const ledger = fileURLToPath(new URL('./ledger/index.ts', import.meta.url))

/** What an app's bundle grows by when it imports these names, compressed. */
async function sizeOf(names: string, from = index): Promise<number> {
  const app = `export { ${names} } from ${JSON.stringify(from)}`
  const bundle = await rolldown({
    input: 'app',
    platform: 'browser',
    plugins: [
      { name: 'app', resolveId: (id) => (id === 'app' ? id : null), load: (id) => (id === 'app' ? app : null) },
    ],
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  expect(output).toHaveLength(1)
  return gzipSync(output[0].code, { level: 9 }).byteLength
}

it('the fetch that paces itself and the parser have less than 6 kB', async () => {
  expect(await sizeOf('createFetch, parseRateLimits, RateLimitError')).toBeLessThan(6_000)
})

it('all of it has less than 6.5 kB', async () => {
  expect(await sizeOf('createFetch, parseRateLimits, RateLimitError, shareTabs, acceptsRatio')).toBeLessThan(6_500)
})

it('the parser alone has less than 2 kB', async () => {
  expect(await sizeOf('parseRateLimits')).toBeLessThan(2_000)
})

it('the client of the ledger has less than 2 kB', async () => {
  expect(await sizeOf('createLedgerClient, LedgerError', ledger)).toBeLessThan(2_000)
})
