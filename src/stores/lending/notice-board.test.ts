import { expect, it } from 'vitest'
import { NoticeBoard } from './notice-board.ts'

it('a listener hears whether notices arrive when it comes, and when that changes, until it leaves', () => {
  const board = new NoticeBoard(false)
  const heard: unknown[] = []
  const leave = board.listen({ connected: (is) => heard.push(is), noticed: ({ key }) => heard.push(key) })
  for (const isConnected of [false, true, true]) board.setConnected(isConnected)
  board.notify({ kind: 'clear', key: 'k' })
  leave()
  board.setConnected(false)
  board.notify({ kind: 'clear', key: 'k' })
  expect(heard).toEqual([false, true, 'k'])
})
