import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { logTo } from '../../server/src/app/log/log.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { startService } from '../../server/src/app/wire.ts'

const PORTS = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']

/** Writes rules for a test, and returns where they are. */
export function ruleFile(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-nodes-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'rules.yaml')
  writeFileSync(path, text)
  return path
}

/** A TestNode is a service as `sluice serve` starts it, in this process. It ends with the test. */
export interface TestNode {
  /** Says whether a request is admitted, and what was left. */
  check(domain: string, entries: Readonly<Record<string, string>>): Promise<{ allowed: boolean; remaining: number }>
  stats(): Promise<string>
}

/** Starts a service on free ports. Redis gets all the time that it needs. */
export async function startNode(...args: string[]): Promise<TestNode> {
  const config = readConfig(['--redis-timeout=20s', ...PORTS, ...args], { SLUICE_SECRET: 'secret' })
  const service = await startService(
    config,
    logTo(() => {}),
  )
  onTestFinished(() => service.close())
  return {
    async check(domain, entries) {
      const list = Object.entries(entries).map(([key, value]) => ({ key, value }))
      const answer = await fetch(`http://${service.addresses.http}/v1/check`, {
        method: 'POST',
        body: JSON.stringify({ domain, descriptors: [{ entries: list }] }),
        headers: { 'content-type': 'application/json' },
      })
      const body = await answer.text()
      if (body.includes('fallback')) throw new Error(`without Redis: ${body}`)
      const remaining = Number(answer.headers.get('x-ratelimit-remaining'))
      return { allowed: answer.status === 200, remaining }
    },
    stats: async () => (await fetch(`http://${service.addresses.admin}/stats`)).text(),
  }
}
