import { describe, expect, it } from 'vitest'
import { overAdmission } from '../../core/over-admission.ts'
import { ask, charge, limitOf, Scene, spend } from './scene.suite.ts'

describe('an eventual rule', () => {
  it('asks once what remains, and then counts immediately', async () => {
    const { lender, nodes } = new Scene()
    const limit = limitOf({ limit: 100 })
    await ask(nodes[0], charge(limit, 1, 'eventual'))
    for (let left = 98; left >= 0; left--) {
      expect(nodes[0].decide([charge(limit, 1, 'eventual')])).toMatchObject([{ kind: 'allowed', remaining: left }])
    }
    expect(await ask(nodes[0], charge(limit, 1, 'eventual'))).toMatchObject({ kind: 'refused' })
    expect(lender.exchanges).toHaveLength(2)
  })

  it('reports what it counted every interval, and hears what the others did', async () => {
    const scene = new Scene(2)
    const limit = limitOf({ limit: 100 })
    for (const node of scene.nodes) await ask(node, charge(limit, 10, 'eventual'))
    expect(await ask(scene.nodes[0], charge(limit, 10, 'eventual'))).toMatchObject({ remaining: 80 })
    scene.pass(125)
    scene.pass(125)
    expect(await ask(scene.nodes[0], charge(limit, 0, 'eventual'))).toMatchObject({ remaining: 70 })
  })

  it('asks nothing while it is not used, and waits for an answer when it is used again', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 100 })
    await ask(scene.nodes[0], charge(limit, 1, 'eventual'))
    scene.pass(3_000)
    const { length } = scene.lender.exchanges
    expect(length).toBeLessThanOrEqual(3)
    scene.pass(10_000)
    expect(scene.lender.exchanges).toHaveLength(length)
    expect(await ask(scene.nodes[0], charge(limit, 1, 'eventual'))).toMatchObject({ remaining: 98 })
  })

  it('stays refused without asking until there is budget', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 5, algorithm: 'fixed_window', window: '10s' })
    await spend(scene.nodes[0], charge(limit, 1, 'eventual'), 10)
    scene.pass(200)
    await ask(scene.nodes[0], charge(limit, 1, 'eventual'))
    const { length } = scene.lender.exchanges
    for (let i = 0; i < 50; i++) {
      scene.pass(100)
      expect(await ask(scene.nodes[0], charge(limit, 1, 'eventual'))).toMatchObject({ kind: 'refused' })
    }
    expect(scene.lender.exchanges).toHaveLength(length)
    scene.pass(5_000)
    expect(await ask(scene.nodes[0], charge(limit, 1, 'eventual'))).toMatchObject({ kind: 'allowed' })
  })

  it.each([1, 2, 4, 16])(
    'admits over the limit no more than its bound, by %d nodes that take all they can',
    async (n) => {
      const scene = new Scene(n)
      const limit = limitOf({ limit: 50, algorithm: 'sliding_log', window: '10s' })
      let admitted = 0
      for (let i = 0; i < 90; i++) {
        for (const node of scene.nodes) admitted += await spend(node, charge(limit, 1, 'eventual'), 1000)
        scene.pass(100)
      }
      expect(admitted).toBeGreaterThanOrEqual(50)
      expect(admitted).toBeLessThanOrEqual(50 + overAdmission(limit, n, 100))
    },
  )

  it('goes over by less where nodes are slow: by what they get in an interval and a half', async () => {
    const scene = new Scene(4)
    const limit = limitOf({ limit: 1000, algorithm: 'sliding_log', window: '60s' })
    let admitted = 0
    // 100 hits a second for each node.
    for (let i = 0; i < 5_000; i++) {
      for (const node of scene.nodes) if ((await ask(node, charge(limit, 1, 'eventual'))).allowed) admitted++
      scene.pass(10)
    }
    expect(overAdmission(limit, 4, 100, 100)).toBe(45)
    expect(admitted).toBeGreaterThanOrEqual(1000)
    expect(admitted).toBeLessThanOrEqual(1000 + overAdmission(limit, 4, 100, 100))
  })

  it('reports what it counted when the node drains', async () => {
    const scene = new Scene(2)
    const limit = limitOf({ limit: 100 })
    await ask(scene.nodes[0], charge(limit, 30, 'eventual'))
    await scene.nodes[0].drain()
    expect(await ask(scene.nodes[1], charge(limit, 0, 'eventual'))).toMatchObject({ remaining: 70 })
  })
})
