import { tmpdir } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { startPglite } from './pglite-process.ts'

it('a process that the machine does not start is an error, and nothing waits for it', async () => {
  const { execPath } = process
  onTestFinished(() => {
    process.execPath = execPath
  })
  process.execPath = '/there/is/no/such/program'
  const events = { notice: () => {}, ended: () => {} }
  await expect(startPglite(tmpdir(), events)).rejects.toThrow(
    `DATABASE_UNAVAILABLE: ${tmpdir()}: its process ended while it started`,
  )
})
