import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { copyPglite, makeDataDir, SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { startRedis } from '../servers/redis.mjs'
import { Newcomer } from './newcomer.suite.ts'

const page = readFileSync(new URL('../../docs/tutorial.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)(?: \[([^\]\n]+)\])?\n(.*?)^```$/gms)].map(([, language, file, text]) => ({
  language,
  file,
  text,
}))

it('docs/tutorial.md can be followed from its first line to its last', { timeout: SLOW_MS }, async () => {
  const dataDir = makeDataDir()
  await copyPglite(dataDir)
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const newcomer = new Newcomer(redis, dataDir)
  onTestFinished(() => newcomer.leave())
  expect(blocks.length).toBeGreaterThan(20)
  for (const { language, file, text } of blocks) {
    if (file !== undefined) await newcomer.save(file, text)
    else if (language === 'sh') for (const line of text.trim().split('\n')) await newcomer.type(line)
    else newcomer.sees(text)
  }
})
