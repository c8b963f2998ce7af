import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { customer, meter, OWNER } from '../../server/src/ledger/ledger.suite.ts'
import { Ledger } from '../../server/src/ledger/ledger.ts'
import { openQuotas } from '../../server/src/quotas/open/open-quotas.ts'
import { ENV } from '../cli/sluice-process.suite.ts'
import { sharedPostgres } from '../servers/shared.ts'

const LONG_MS = 240_000
const SLUICE = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))

/** Runs a command without holding up this process, which answers it. */
const sluice = (args: readonly string[], env: Record<string, string>) =>
  new Promise<{ stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [SLUICE, ...args], { env: { ...ENV, ...env } }, (_, stdout, stderr) =>
      resolve({ stdout, stderr }),
    )
  })

it('sluice ledger export sends what was used, and says what is missing', { timeout: LONG_MS }, async () => {
  const postgres = await sharedPostgres()
  const url = postgres.url(await postgres.createDatabase())
  const quotas = await openQuotas({ url })
  onTestFinished(() => quotas.close())
  await quotas.store.put('meters', meter('exports', { allowance: 100 }), OWNER)
  await quotas.store.put('customers', customer('acme', { metadata: { stripe_customer_id: 'cus_acme' } }), OWNER)
  await new Ledger(quotas.db).ask('acme', 'exports', { kind: 'event', id: 'e1', amount: 7 })
  const received: string[] = []
  const server = createServer(async (request, response) => {
    received.push(`${request.method} ${request.url} ${await text(request)}`)
    response.end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const stripe = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const args = ['ledger', 'export', '--database', url, '--stripe', stripe]
  const key = { SLUICE_STRIPE_KEY: 'sk_test_1' }

  expect((await sluice([...args, '--meter', 'exports=api_exports'], {})).stderr).toContain('LEDGER_EXPORT_INVALID')
  expect((await sluice(args, key)).stderr).toContain('LEDGER_EXPORT_INVALID')
  expect((await sluice([...args, '--meter', 'exports'], key)).stderr).toContain('LEDGER_EXPORT_INVALID')
  expect(received).toEqual([])
  const sent = await sluice([...args, '--meter', 'exports=api_exports'], key)
  expect(sent).toEqual({ stdout: '1 event sent: exports 7\n', stderr: '' })
  expect(received).toEqual([expect.stringMatching(/^POST \/v1\/billing\/meter_events event_name=api_exports&.*=7$/)])
  expect((await sluice([...args, '--meter', 'exports=api_exports'], key)).stdout).toBe('0 events sent\n')
})
