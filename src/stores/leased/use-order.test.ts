import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../core/algorithms/oracle.suite.ts'
import { type Ordered, UseOrder } from './use-order.ts'

class Member implements Ordered {
  older: this | undefined
  newer: this | undefined
}

describe('an order of use', () => {
  it('knows which member was used longest ago, as a list would that is moved about', () => {
    const random = seededRandom(3)
    const members = Array.from({ length: 8 }, () => new Member())
    const order = new UseOrder<Member>()
    let list: Member[] = []
    for (let i = 0; i < 2_000; i++) {
      const member = members[Math.floor(random() * members.length)]
      list = list.filter((other) => other !== member)
      if (random() < 0.7) {
        order.use(member)
        list.push(member)
      } else order.remove(member)
      expect(order.oldest).toBe(list[0])
    }
    while (order.oldest !== undefined) {
      expect(order.oldest).toBe(list.shift())
      order.remove(order.oldest)
    }
    expect(list).toEqual([])
  })
})
