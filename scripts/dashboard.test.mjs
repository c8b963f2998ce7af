import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { packFiles } from './dashboard.mjs'
import { makeTree } from './temporary-tree.mjs'

test('every file is compressed and listed by the path that it is asked for', async () => {
  const code = 'export const a = 1\n'.repeat(100)
  const dir = makeTree({ 'index.html': '<p>', 'assets/a-1.js': code, 'licenses.txt': 'MIT' })
  await packFiles(dir)
  const { files } = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'))
  expect(Object.keys(files)).toEqual(['/assets/a-1.js', '/index.html'])
  const packed = ['a-1.js.br', 'a-1.js.gz'].map((name) => readFileSync(join(dir, 'assets', name)))
  expect(files['/assets/a-1.js']).toEqual({
    type: 'text/javascript; charset=utf-8',
    hash: expect.stringMatching(/^[\w-]{22}$/),
    bytes: { identity: code.length, br: packed[0].length, gzip: packed[1].length },
  })
  expect([brotliDecompressSync(packed[0]), gunzipSync(packed[1])].map(String)).toEqual([code, code])
})

test('what does not get smaller is not compressed', async () => {
  const dir = makeTree({ 'index.html': '<p>' })
  await packFiles(dir)
  expect(readdirSync(dir).sort()).toEqual(['index.html', 'manifest.json'])
})

test('a file of an unknown type fails', async () => {
  await expect(packFiles(makeTree({ 'a.exe': '' }))).rejects.toThrow('its type is unknown')
})
