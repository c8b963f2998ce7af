import { describe, expect, it } from 'vitest'
import type { Observer } from '../../engine/observer.ts'
import { StoreWatch } from './store-watch.ts'

/** An observer that writes down what it hears of the store. */
function scribe(): { readonly observer: Observer; readonly lines: string[] } {
  const lines: string[] = []
  const observer: Observer = {
    decided() {},
    deadlineChanged: (shard, timeoutMs) => void lines.push(`${shard} ${timeoutMs}`),
    fellBack: (mode, reason, shard) => void lines.push(`${mode} ${reason} ${shard}`),
  }
  return { observer, lines }
}

describe('StoreWatch', () => {
  it('reports to every observer', () => {
    const watch = new StoreWatch()
    const [a, b] = [scribe(), scribe()]
    watch.add(a.observer)
    watch.add(b.observer)
    watch.events.deadlineChanged?.('r:1', 12)
    watch.events.fellBack?.('local', 'timeout', 'r:1')
    expect(a.lines).toEqual(['r:1 12', 'local timeout r:1'])
    expect(b.lines).toEqual(a.lines)
  })

  it('reports once to an observer of several limits, until the last of them is closed', () => {
    const watch = new StoreWatch()
    const { observer, lines } = scribe()
    const [first, second] = [watch.add(observer), watch.add(observer)]
    first()
    watch.events.deadlineChanged?.('r:1', 7)
    second()
    watch.events.deadlineChanged?.('r:1', 8)
    expect(lines).toEqual(['r:1 7'])
  })

  it('reports the current deadlines to an observer that comes later', () => {
    const watch = new StoreWatch()
    watch.events.deadlineChanged?.('r:1', 100)
    watch.events.deadlineChanged?.('r:1', 9)
    watch.events.deadlineChanged?.('r:2', 30)
    const { observer, lines } = scribe()
    watch.add(observer)
    expect(lines).toEqual(['r:1 9', 'r:2 30'])
  })

  it('needs no observer, and none of its functions', () => {
    const watch = new StoreWatch()
    watch.add(undefined)()
    watch.add({ decided() {} })
    watch.events.deadlineChanged?.('r:1', 9)
    watch.events.fellBack?.('open', 'offline', 'r:1')
  })
})
