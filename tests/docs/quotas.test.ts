import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { copyPglite, makeDataDir, SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { firstTokenOf, startWith } from '../cli/sluice-process.suite.ts'
import { until } from '../servers/until.mjs'
import { curlExample } from './curl.suite.ts'

const page = readFileSync(new URL('../../docs/quotas.md', import.meta.url), 'utf8')

describe('docs/quotas.md', () => {
  it('has examples that a newcomer can follow, one after the other', { timeout: SLOW_MS }, async () => {
    const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text)
    const commands = blocks.flatMap((text) => text.split('\n')).filter((line) => line.startsWith('curl'))
    expect(commands.length).toBeGreaterThan(7)
    const dataDir = makeDataDir()
    await copyPglite(dataDir)
    const started = await startWith({ SLUICE_DATA: dataDir })
    await started.printed('quotas are in force')
    const token = await firstTokenOf(started)
    const addresses = new Map([
      ['8080', started.url],
      ['8082', started.admin],
    ])
    for (const command of commands) {
      const { url, request, status, text } = curlExample(command, addresses, token)
      // A change is in force when the node has heard of it: a decision may have to be asked for again.
      const isDecision = url.includes('/v1/check')
      const ask = async () => {
        const response = await fetch(url, request)
        return { status: response.status, text: await response.text() }
      }
      const isRight = (answer: { status: number; text: string }) =>
        answer.status === status && answer.text.includes(text)
      if (isDecision) await until(`the answer is as the page says: ${command}`, async () => isRight(await ask()))
      else {
        const answer = await ask()
        expect([answer.status, answer.text], command).toEqual([status, expect.stringContaining(text)])
      }
    }
  })
})
