import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keptIn } from './kept-rules.suite.ts'
import { KeptRules } from './kept-rules.ts'

const body = Buffer.from('domain: a\ndescriptors: []\n')

describe('KeptRules', () => {
  it('are files that no one else reads', async () => {
    const { kept, dir } = keptIn()
    await kept.write('here', { atMs: 7, body })
    expect(kept.read('here')).toEqual({ atMs: 7, body })
    const [file] = readdirSync(dir)
    expect(statSync(join(dir, file)).mode & 0o077).toBe(0)
  })

  it('are the last that were written, however many writes overlap', async () => {
    const { kept, dir } = keptIn()
    await Promise.all([1, 2, 3].map((atMs) => kept.write('here', { atMs, body })))
    expect(kept.read('here')).toEqual({ atMs: 3, body })
    expect(readdirSync(dir)).toHaveLength(1)
  })

  it.each([
    '',
    '{',
    'null\n',
    '{"of":"here","atMs":1,"length":5}\nhalf',
    '{"of":"here","length":0}\n',
    '{"of":"there","atMs":1,"length":0}\n',
  ])('that say %j are as good as none', async (nonsense) => {
    const { kept, dir } = keptIn()
    await kept.write('here', { atMs: 7, body })
    const [file] = readdirSync(dir)
    writeFileSync(join(dir, file), nonsense)
    expect(kept.read('here')).toBeUndefined()
    expect(kept.read('elsewhere')).toBeUndefined()
  })

  it('that cannot be written change nothing', async () => {
    const { dir } = keptIn()
    writeFileSync(join(dir, 'file'), 'x')
    const kept = new KeptRules(join(dir, 'file', 'rules'))
    await kept.write('here', { atMs: 7, body })
    expect(kept.read('here')).toBeUndefined()
    expect(readFileSync(join(dir, 'file'), 'utf8')).toBe('x')
  })
})
