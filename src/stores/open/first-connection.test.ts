import { describe, expect, it } from 'vitest'
import { firstConnection } from './first-connection.ts'

/** Returns an attempt to connect that ends when the test says so. */
function attempt() {
  let end = (): void => {}
  const attempted = new Promise<void>((resolve) => {
    end = resolve
  })
  return { attempted, end: () => end() }
}

/** Looks that pass immediately; `counted` says how many there were, and how many were given up. */
function quickLooks() {
  const counted = { looks: 0, cancelled: 0 }
  const look = () => {
    counted.looks++
    return { passed: Promise.resolve(), cancel: () => void counted.cancelled++ }
  }
  return { counted, look }
}

describe('firstConnection', () => {
  it('waits until the first attempt has ended', async () => {
    const { attempted, end } = attempt()
    const order: string[] = []
    const calls = [1, 2].map((call) => firstConnection(attempted).then(() => order.push(`call ${call}`)))
    await Promise.resolve()
    order.push('attempt')
    end()
    await Promise.all(calls)
    expect(order).toEqual(['attempt', 'call 1', 'call 2'])
  })

  it('continues after twenty looks where no attempt ends', async () => {
    const { counted, look } = quickLooks()
    await firstConnection(new Promise(() => {}), look)
    expect(counted).toEqual({ looks: 20, cancelled: 20 })
  })

  it('leaves no timer behind once the attempt has ended', async () => {
    const { attempted, end } = attempt()
    const cancelled: string[] = []
    const look = () => ({ passed: new Promise<void>(() => {}), cancel: () => void cancelled.push('look') })
    const waited = firstConnection(attempted, look)
    end()
    await waited
    expect(cancelled).toEqual(['look'])
  })
})
