import { describe, expect, it } from 'vitest'
import { InFlight } from './under-way.ts'

const made = (name: string) => ({ name, position: -1 })

describe('InFlight', () => {
  it('has what was added and not deleted, in whatever order that was', () => {
    const list = new InFlight<{ name: string; position: number }>()
    const [a, b, c] = ['a', 'b', 'c'].map(made)
    for (const each of [a, b, c]) list.add(each)
    list.delete(a)
    expect(list.all()).toEqual([expect.objectContaining({ name: 'c' }), expect.objectContaining({ name: 'b' })])
    list.delete(a)
    expect(list.size).toBe(2)
    list.delete(c)
    list.delete(b)
    expect([list.size, list.all()]).toEqual([0, []])
    list.add(a)
    expect(list.all()).toEqual([a])
  })

  it('gives a copy, which may be gone through while it changes', () => {
    const list = new InFlight<{ name: string; position: number }>()
    for (const name of ['a', 'b', 'c', 'd']) list.add(made(name))
    for (const each of list.all()) list.delete(each)
    expect(list.size).toBe(0)
  })
})
