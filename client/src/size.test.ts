import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'

/** sizeOf is what an app's bundle grows by when it imports a file, compressed. */
async function sizeOf(file: string): Promise<number> {
  const bundle = await rolldown({ input: fileURLToPath(new URL(file, import.meta.url)), platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  expect(output).toHaveLength(1)
  return gzipSync(output[0].code, { level: 9 }).byteLength
}

it('the fetch that paces itself and the parser have less than 5 kB', async () => {
  expect(await sizeOf('./index.ts')).toBeLessThan(5_000)
})
