import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { Journal } from './journal.ts'

const TEXTS = ['{"a":1}', 'ü', '', '{"a":"a longer text, of several words"}', '{"a":1}', 'last']

const newPath = (): string => join(makeTemporaryDir('journal'), 'journal')

async function open(path: string, options: { mostBytes?: number } = {}): Promise<Journal> {
  const journal = await Journal.open(path, options)
  onTestFinished(() => journal.close().catch(() => {}))
  return journal
}

/** Returns the path of a journal that has the texts, and its size after each of them. */
async function written(): Promise<{ path: string; sizes: number[] }> {
  const path = newPath()
  const journal = await open(path)
  const sizes = [0]
  for (const text of TEXTS) {
    await journal.append(text)
    sizes.push(journal.sizeBytes)
  }
  await journal.close()
  return { path, sizes }
}

describe('a journal', () => {
  it('has what was confirmed when it is opened again, in order', async () => {
    const path = newPath()
    const journal = await open(path)
    await Promise.all(Array.from({ length: 500 }, (_, i) => journal.append(`text ${i}`)))
    await journal.close()
    expect((await open(path)).texts).toEqual(Array.from({ length: 500 }, (_, i) => `text ${i}`))
  })

  it('that is cut at any byte has what was whole before, and continues behind it', async () => {
    const { path, sizes } = await written()
    for (let size = 0; size <= sizes.at(-1)!; size++) {
      const cut = newPath()
      copyFileSync(path, cut)
      truncateSync(cut, size)
      const whole = TEXTS.slice(0, sizes.filter((end) => end > 0 && end <= size).length)
      const journal = await Journal.open(cut)
      expect([size, journal.texts]).toEqual([size, whole])
      await journal.append('more')
      await journal.close()
      const again = await Journal.open(cut)
      expect([size, again.texts]).toEqual([size, [...whole, 'more']])
      await again.close()
    }
  })

  it('with any byte changed is refused, or lacks the last text alone: never another text', async () => {
    const { path, sizes } = await written()
    const bytes = readFileSync(path)
    for (let at = 0; at < bytes.length; at++) {
      const damaged = newPath()
      const changed = Buffer.from(bytes)
      changed[at] ^= 0x41
      writeFileSync(damaged, changed)
      const opened = await Journal.open(damaged).catch((error: { code: string }) => error.code)
      if (at < sizes.at(-2)!) expect([at, opened]).toEqual([at, 'LEDGER_JOURNAL_DAMAGED'])
      else {
        expect([at, (opened as Journal).texts]).toEqual([at, TEXTS.slice(0, -1)])
        await (opened as Journal).close()
      }
    }
  })

  it('that is full refuses, and takes more after it was emptied', async () => {
    const path = newPath()
    const journal = await open(path, { mostBytes: 100 })
    const taken: string[] = []
    for (let i = 0; i < 50; i++) {
      const text = `text ${i}`
      const answer = await Promise.resolve()
        .then(() => journal.append(text))
        .catch((error: { code: string }) => error.code)
      if (answer === undefined) taken.push(text)
      else expect(answer).toBe('LEDGER_BUSY')
    }
    expect(taken).toHaveLength(5)
    expect(readFileSync(path).length).toBeLessThanOrEqual(100)
    journal.empty()
    await journal.append('after')
    await journal.close()
    expect((await open(path)).texts).toEqual(['after'])
  })

  it('confirms nothing after a write that failed', async () => {
    const path = newPath()
    const journal = await open(path)
    await journal.append('before')
    await journal.close()
    await expect(journal.append('lost')).rejects.toMatchObject({ code: 'LEDGER_JOURNAL_FAILED' })
    expect(() => journal.append('more')).toThrow('LEDGER_JOURNAL_FAILED')
    expect((await open(path)).texts).toEqual(['before'])
  })
})
