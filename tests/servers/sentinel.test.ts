import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SentinelSystem, startSentinel } from './sentinel.mjs'

describe('Sentinels', () => {
  let system: SentinelSystem
  beforeAll(async () => {
    system = await startSentinel({ password: 'secret', downAfterMs: 2_000 })
  })
  afterAll(() => system.stop())

  it('agree on a master that has a replica', async () => {
    const master = await system.master()
    expect(master).toBe(system.nodes[0])
    expect(await master?.field('connected_slaves', 'INFO', 'replication')).toBe('1')
    for (const { host, port } of system.addresses) {
      const sentinel = system.sentinels.find((each) => each.port === port)
      expect(await sentinel?.cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')).toBe(`${host}\n${master?.port}`)
    }
  })

  // First, because Sentinels wait for some seconds after a failover before they start another by themselves.
  it('make a replica the master when the master dies, and the dead one a replica when it returns', async () => {
    const before = await system.agreed()
    await before.kill()
    const after = await system.agreed({ not: before })
    expect(await after.call('SET', 'written', 'after')).toBe('OK')
    await before.restart()
    expect(await system.agreed()).toBe(after)
    expect(await before.field('role', 'INFO', 'replication')).toBe('slave')
  })

  it('make a replica the master when they are asked to', async () => {
    const before = await system.agreed()
    const after = await system.failover()
    expect(after.port).not.toBe(before.port)
    expect(await after.call('SET', 'written', 'after')).toBe('OK')
    await expect(before.call('SET', 'written', 'before')).rejects.toThrow('READONLY')
  })
})
