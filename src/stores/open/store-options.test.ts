import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import type { PathStep } from '../../core/rule.ts'
import { openAppStore } from './open-app-store.ts'
import type { StoreOptions } from './store-options.ts'

let url: string
beforeAll(async () => {
  url = (await sharedRedis()).url
})

function opened(options: StoreOptions) {
  const open = openAppStore(options)
  onTestFinished(() => open.close())
  return open
}

describe('openAppStore', () => {
  it('shares one store between all that name the same Redis and the same secret', () => {
    const [one, two] = ['a', 'a'].map((secret) => opened({ redis: url, secret }))
    expect(two.store).toBe(one.store)
    expect(two.keys).toBe(one.keys)
  })

  it('does not share with stores that have another secret', () => {
    const [one, two] = ['a', 'b'].map((secret) => opened({ redis: url, secret }))
    const step = { secret: true, sharedAs: undefined } as PathStep
    expect(two.store).not.toBe(one.store)
    expect(two.keys.value('a key', step)).not.toBe(one.keys.value('a key', step))
  })

  it('has a store in memory for each', () => {
    expect(opened({}).store).not.toBe(opened({}).store)
  })
})
