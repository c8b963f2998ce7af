import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeDataDir } from './databases.suite.ts'
import { takeLock } from './directory-lock.js'

const MODULE = fileURLToPath(new URL('./directory-lock.js', import.meta.url))

function makePath(): string {
  const path = join(makeDataDir(), 'lock')
  mkdirSync(dirname(path), { recursive: true })
  return path
}

/** Starts a process that takes a lock and keeps it. Returns whether it got the lock. */
async function holder(path: string): Promise<{ child: ChildProcess; got: boolean }> {
  const script = `import { takeLock } from ${JSON.stringify(MODULE)}
    const lock = await takeLock(${JSON.stringify(path)}); console.log(lock !== undefined); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [chunk] = await once(child.stdout!, 'data')
  return { child, got: String(chunk).trim() === 'true' }
}

describe('the lock of a directory', () => {
  it('is held by one process at a time', async () => {
    const path = makePath()
    expect((await holder(path)).got).toBe(true)
    expect((await holder(path)).got).toBe(false)
    expect(await takeLock(path)).toBeUndefined()
  })

  it('is free again when it was released, and cannot be taken twice', async () => {
    const path = makePath()
    const lock = await takeLock(path)
    expect(await takeLock(path)).toBeUndefined()
    expect(lock?.renew()).toBe(true)
    lock?.release()
    expect(existsSync(path)).toBe(false)
    expect(await takeLock(path)).toBeDefined()
    expect(lock?.renew()).toBe(false)
  })

  it('is taken immediately from a process that was killed', async () => {
    const path = makePath()
    const { child } = await holder(path)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await takeLock(path, { silentForMs: 3_600_000 })).toBeDefined()
  })

  it('is taken from a process whose number another one has by now', async () => {
    const path = makePath()
    await takeLock(path)
    const mine = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify({ ...mine, started: '1' }))
    expect(await takeLock(path, { silentForMs: 3_600_000 })).toBeDefined()
  })

  it('of a process on another machine is taken when that gives no sign of life', async () => {
    const path = makePath()
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: 'elsewhere', boot: 'b', space: 's', started: '1' }))
    const renewing = setInterval(() => utimesSync(path, new Date(), new Date()), 5)
    expect(await takeLock(path, { silentForMs: 3_600_000 })).toBeUndefined()
    clearInterval(renewing)
    expect(await takeLock(path, { silentForMs: 20 })).toBeDefined()
  })

  it('is taken from a file that says nothing', async () => {
    const path = makePath()
    writeFileSync(path, '')
    expect(await takeLock(path, { silentForMs: 20 })).toBeDefined()
  })

  it('goes to one of many who find a dead holder', async () => {
    const path = makePath()
    const { child } = await holder(path)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const all = await Promise.all(Array.from({ length: 4 }, () => holder(path)))
    expect(all.filter(({ got }) => got)).toHaveLength(1)
  })
})
