import { describe, expect, it } from 'vitest'
import type { NoticeListener } from '../../engine/ports.ts'
import { ask, charge, limitOf, Scene } from './scene.suite.ts'

const one = (limit = limitOf({ limit: 1, algorithm: 'fixed_window', window: '10s' }), key = 'k') =>
  charge(limit, 1, 'exact', key)

/** A refused key, on a node of its own. */
async function refused(nodes = 1, options = {}) {
  const scene = new Scene(nodes, options)
  const charged = one()
  await ask(scene.nodes[0], charged)
  for (const node of scene.nodes) expect(await ask(node, charged)).toMatchObject({ kind: 'refused' })
  return { scene, charged, node: scene.nodes[0], lender: scene.lender }
}

describe('a key that is refused', () => {
  it('is refused from memory, immediately and without asking', async () => {
    const { lender, node, charged } = await refused()
    const { decisions } = lender
    for (let i = 0; i < 1000; i++) {
      expect(node.decide([charged])).toMatchObject([{ kind: 'refused', remaining: 0, retryAfterMs: 10_000 }])
    }
    expect(lender.decisions).toBe(decisions)
    expect(node.stats.refusedHere).toBe(1000)
  })

  it('is refused exactly as long as the store said', async () => {
    const { scene, node, charged } = await refused()
    scene.nowMs += 9_999
    expect(await ask(node, charged)).toMatchObject({ kind: 'refused', retryAfterMs: 1, resetAfterMs: 1 })
    scene.nowMs += 1
    expect(await ask(node, charged)).toMatchObject({ kind: 'allowed' })
  })

  it('is asked about again when its limit has changed', async () => {
    const { node } = await refused()
    const raised = limitOf({ limit: 5, algorithm: 'fixed_window', window: '10s' })
    expect(await ask(node, one(raised))).toMatchObject({ kind: 'allowed', remaining: 3 })
  })

  it('is asked about again for another cost, and looked at whenever a caller looks', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 10, window: '10s' })
    await ask(scene.nodes[0], charge(limit, 10, 'exact'))
    expect(await ask(scene.nodes[0], charge(limit, 5, 'exact'))).toMatchObject({ kind: 'refused' })
    const five = await ask(scene.nodes[0], charge(limit, 5, 'exact'))
    const nine = await ask(scene.nodes[0], charge(limit, 9, 'exact'))
    expect(nine).toMatchObject({ kind: 'refused' })
    expect(nine.kind === 'refused' && five.kind === 'refused' && nine.retryAfterMs > five.retryAfterMs).toBe(true)
    expect(await ask(scene.nodes[0], charge(limit, 0, 'exact'))).toMatchObject({ kind: 'refused', remaining: 0 })
  })

  it('is admitted everywhere again when the counter is reset', async () => {
    const { scene, charged } = await refused(3)
    await scene.nodes[1].reset(charged.key, charged.limit)
    expect(await ask(scene.nodes[2], charged)).toMatchObject({ kind: 'allowed' })
    expect(await ask(scene.nodes[0], charged)).toMatchObject({ kind: 'refused' })
  })

  it('is admitted everywhere again when a caller gives back', async () => {
    const { scene, charged } = await refused(2)
    await ask(scene.nodes[0], { ...charged, cost: -1 })
    expect(await ask(scene.nodes[1], charged)).toMatchObject({ kind: 'allowed' })
  })

  it('is kept for a second only while no notices arrive, but reported when it really ends', async () => {
    const scene = new Scene(0)
    let listener: NoticeListener | undefined
    scene.lender.listen = (given) => {
      listener = given
      given.connected(false)
      return () => {}
    }
    const node = scene.node()
    const charged = one()
    await ask(node, charged)
    await ask(node, charged)
    scene.nowMs += 999
    expect(node.decide([charged])).toMatchObject([{ retryAfterMs: 9_001 }])
    scene.nowMs += 1
    const { decisions } = scene.lender
    await ask(node, charged)
    listener?.connected(true)
    await ask(node, charged)
    expect(scene.lender.decisions).toBe(decisions + 2)
  })

  it('is not remembered where refused hits count, or where permits are released', async () => {
    const scene = new Scene()
    const counting = limitOf({ limit: 1, window: '10s', countDenied: true })
    const places = limitOf({ limit: 0, algorithm: 'sliding_log', window: '10s' })
    for (let i = 0; i < 3; i++) await ask(scene.nodes[0], charge(counting, 1, 'exact', 'a'))
    await ask(scene.nodes[0], charge(places, 1, 'exact', 'b'))
    expect(scene.nodes[0].stats).toMatchObject({ refusals: 0, refusedHere: 0 })
  })

  it('is one of a bounded number; what is forgotten is asked again', async () => {
    const scene = new Scene(1, { maxKeys: 50 })
    const limit = limitOf({ limit: 1, window: '10s' })
    for (const round of [1, 2]) {
      for (let i = 0; i < 500; i++) {
        const verdict = await ask(scene.nodes[0], charge(limit, 1, 'exact', `k${i}`))
        expect(verdict.allowed).toBe(round === 1)
      }
    }
    expect(scene.nodes[0].stats.refusals).toBe(50)
  })
})
